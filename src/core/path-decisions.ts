import type { LlmcError } from "../base/error.ts";
import { isInside } from "../base/paths.ts";
import { isForbidden } from "../policy/cedar/outcome.ts";
import type { GrantedPath } from "../policy/permit.ts";
import { quoteForQuestion } from "../policy/show-call.ts";
import type { Caller } from "../tools/contract.ts";
import { type AuthorizerParts, type CallState, check, contextOf } from "./escalate.ts";
import { actionOf, type Called, pathSubject, requestsFor, type Subject } from "./requests.ts";

const describePath = ({ path, realPath }: GrantedPath): string =>
  realPath === path
    ? `That is outside the allowed folders: it could read ${quoteForQuestion(path)} and everything in it, if it is a folder.`
    : `${quoteForQuestion(path)} is outside the allowed folders and leads to ${quoteForQuestion(realPath)}: it could read that, and everything in it, if it is a folder.`;

/** Whether policy forbids something that nobody has to permit, because what it is a part of was permitted. */
const isForbiddenFor = (
  parts: AuthorizerParts,
  caller: Caller,
  subject: Subject,
  granted: boolean,
): boolean =>
  requestsFor(subject, caller, contextOf(parts, caller, granted)).some((request) =>
    isForbidden(parts.policy.decide(request)),
  );

/** Decides on paths outside the roots, and on what lies in those that were granted. */
export const createPathDecisions = (state: CallState, tool: Called) => {
  const action = actionOf(tool);
  /** What the user agreed to, with everything in it. */
  const agreed: string[] = [];
  const known = new Map<string, boolean>();
  return {
    permitPath: (granted: GrantedPath, refusal: LlmcError): void => {
      const { isGranted } = check(state, {
        ...pathSubject(action, granted),
        // Where it leads is what the user agrees to: the same name may lead elsewhere later.
        key: `path:${action.groups.join(":")}:${granted.realPath}`,
        facts: () => [describePath(granted)],
        refuse: () => refusal,
      });
      known.clear();
      if (isGranted) agreed.push(granted.path, granted.realPath);
    },
    forbidsPath: (path: string): boolean => {
      const before = known.get(path);
      if (before !== undefined) return before;
      const isAgreed = agreed.some((one) => isInside(path, one));
      const subject = pathSubject(action, { path, realPath: path });
      const isRefused = isForbiddenFor(state.parts, state.origin.caller, subject, isAgreed);
      known.set(path, isRefused);
      return isRefused;
    },
  };
};
