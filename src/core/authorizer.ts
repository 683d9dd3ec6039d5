import type { LlmcError } from "../base/error.ts";
import type { PolicyContext, PolicyDecision } from "../policy/cedar/model.ts";
import type { GrantedPath, PermitFiles, PermitHost, ProgramNeeds, ProgramRequest } from "../policy/permit.ts";
import { quoteForQuestion } from "../policy/show-call.ts";
import type { Caller } from "../tools/contract.ts";
import type { Effect } from "../tools/tool.ts";
import {
  type AuthorizerParts,
  type CallState,
  check,
  countsConsent,
  judgeFor,
  keepGrants,
  originForTool,
  promptFor,
  resume,
} from "./escalate.ts";
import type { Origin } from "./origin.ts";
import { createPathDecisions } from "./path-decisions.ts";
import { explainHost, explainKnowledge, explainTool, refuseByPolicy, refuseProgram } from "./refusals.ts";
import {
  actionOf,
  type Called,
  endpointSubject,
  hostSubject,
  knowledgeSubject,
  lineSubject,
  programSubject,
  type Subject,
  wholeSubject,
} from "./requests.ts";

type DecisionLog = CallState["log"];

/** What a tool that writes tells of a file is read from it. */
const READ_FILE = actionOf({ name: "read_file", effect: "read" });

const checkTool = (state: CallState, tool: Called): void => {
  const action = actionOf(tool);
  check(state, {
    ...wholeSubject(action, state.parts.workspace),
    key: `tool:${action.groups.join(":")}:${action.name}`,
    facts: () => [],
    refuse: (decision) =>
      refuseByPolicy(
        { name: tool.name, explain: explainTool(tool.name), caller: state.origin.caller },
        decision,
      ),
  });
};

const describeNeeds = (program: string, needs: ProgramNeeds | undefined): readonly string[] => {
  const name = quoteForQuestion(program);
  if (needs === undefined) return [`${name} is among the allowed programs, but a policy asks for consent.`];
  const { path, realPath, readPaths, powers, meaning } = needs;
  const link = realPath === path ? "" : `, a link to ${quoteForQuestion(realPath ?? "")}`;
  return [
    path === undefined
      ? `${name} is allowed, but not with what this needs: ${powers.join(", ")}.`
      : `${name} is ${quoteForQuestion(path)}${link}, which is not among the allowed programs.`,
    ...meaning.map((each) => `${each}.`),
    ...(readPaths.length === 0
      ? []
      : [`Besides the workspace it could read ${readPaths.map(quoteForQuestion).join(", ")}.`]),
  ];
};

/** The lasting way, where it can be typed as it is. */
const lastingWay = (wanted: readonly string[]): string =>
  wanted.length > 0 && wanted.every((one) => /^[\w.+/:-]+$/.test(one))
    ? ` For good: llmc allow ${wanted.join(" ")}.`
    : "";

const checkProgram = (state: CallState, request: ProgramRequest): void => {
  const { program, realName, needs, isMidway = false } = request;
  const allow = needs && [...(needs.path === undefined ? [] : [needs.path]), ...needs.powers];
  check(state, {
    ...programSubject(request),
    key: JSON.stringify([
      "program",
      program,
      needs === undefined ? realName : needs.path,
      needs?.realPath,
      needs?.content,
      needs?.readPaths,
      needs?.powers,
    ]),
    ...(needs?.realPath === undefined ? {} : { neverKey: `program:${needs.realPath}` }),
    facts: () => (isMidway ? undefined : describeNeeds(program, needs)),
    note: `It runs in the sandbox. "once" is this call alone, "session" is ${quoteForQuestion(program)} with any arguments that need no other power.${lastingWay(allow ?? [])}`,
    ...(allow && { allow }),
    refuse: (decision) => refuseProgram(request, decision, state.origin.caller),
  });
};

const checkFiles =
  (state: CallState): PermitFiles =>
  (effect) => {
    const subject = lineSubject(effect, state.parts.workspace);
    const { name } = subject.action;
    check(state, {
      ...subject,
      key: name,
      facts: () => [`The line ${effect}s files by itself, without a program.`],
      refuse: (decision) =>
        refuseByPolicy(
          {
            name: `${effect === "read" ? "reading" : "writing"} files in a command line`,
            explain: explainTool(name),
            caller: state.origin.caller,
          },
          decision,
        ),
    });
  };

const checkHost =
  (state: CallState): PermitHost =>
  (request) => {
    const { host, refusal } = request;
    check(state, {
      ...hostSubject(request),
      key: `host:${host}`,
      // No answer lifts what the configuration refuses.
      facts: () => (refusal === undefined ? [`It sends text to ${quoteForQuestion(host)}.`] : undefined),
      refuse: (decision) =>
        refusal !== undefined && decision.policies.length === 0
          ? refusal
          : refuseByPolicy(
              { name: `text to ${host}`, explain: explainHost(host), caller: state.origin.caller },
              decision,
            ),
    });
  };

/** What a call reads in knowledge bases, and the flow that it runs. */
const checkKnowledge = (state: CallState, tool: Called, type: "Collection" | "Flow", id: string): void => {
  const action = actionOf(tool);
  const what = type === "Flow" ? "flow" : "knowledge base";
  check(state, {
    ...knowledgeSubject(action, type, id),
    key: `${what}:${id}`,
    facts: () => [
      type === "Flow"
        ? `It runs the flow ${quoteForQuestion(id)}: searches in knowledge bases and calls of other tools, each decided on by itself.`
        : `It reads the knowledge base ${quoteForQuestion(id)}.`,
    ],
    refuse: (decision) =>
      refuseByPolicy(
        {
          name: `${what} ${quoteForQuestion(id)}`,
          explain: explainKnowledge(tool.name, type, id),
          caller: state.origin.caller,
        },
        decision,
      ),
  });
};

/** A call that may go on. */
export interface Authorized<R extends Origin> {
  /** The call as the tool gets it. */
  readonly request: R;
  /** Decides on a path that was refused because it is outside the roots: returns if it may be read nevertheless. */
  permitPath(granted: GrantedPath, refusal: LlmcError): void;
  /** Whether a policy forbids this one, although it lies in what was granted. */
  forbidsPath(path: string): boolean;
  /** What the tool threw; with a question of its own, what was granted to this call is kept until the answer comes. */
  keepGrants(thrown: unknown): unknown;
}

/** What policy would say, for people who want to know beforehand. */
export interface Explained {
  readonly outcome: "allow" | "ask" | "deny";
  readonly decision: PolicyDecision;
  /** Where the user is asked: the question, and the decision if they agree. */
  readonly asked?: { readonly prompt: string; readonly agreed: PolicyDecision };
  /** Consent alone is missing, but that of this caller does not count. */
  readonly isConsentless: boolean;
}

/** Decides on calls by policy, and asks the user where policy leaves the decision to them. */
export const createAuthorizer = (parts: AuthorizerParts) => {
  const stateOf = (called: string, origin: Origin, args: unknown, log: DecisionLog): CallState => {
    const state = { parts, origin, called, args, log };
    return { ...state, resumed: resume(state) };
  };
  const mayReadFiles = (caller: Caller): boolean =>
    explain(wholeSubject(READ_FILE, parts.workspace), caller).outcome === "allow";

  const withPermits = <R extends Origin>(request: R, state: CallState, tool?: Called): R => ({
    ...originForTool(request, state.resumed),
    caller: {
      ...request.caller,
      mayRead: () => mayReadFiles(request.caller),
      permit: (program) => checkProgram(state, program),
      permitFiles: checkFiles(state),
      permitHost: checkHost(state),
      ...(tool?.family === "kb" && {
        permitCollection: (name) => checkKnowledge(state, tool, "Collection", name),
        permitFlow: (id) => checkKnowledge(state, tool, "Flow", id),
      }),
    } satisfies Caller,
  });

  const explain = (subject: Subject, caller: Caller, given: Partial<PolicyContext> = {}): Explained => {
    const judged = judgeFor(parts, caller, subject, given);
    const { outcome, decision } = judged;
    if (outcome !== "ask") return { outcome, decision, isConsentless: false };
    if (!countsConsent(parts, caller)) return { outcome: "deny", decision, isConsentless: true };
    const asked = { prompt: promptFor(parts.policy, judged), agreed: judged.agreed };
    return { outcome, decision, asked, isConsentless: false };
  };

  return {
    /** Throws unless the caller may use the tool. */
    authorize: <R extends Origin>(
      tool: Called,
      request: R,
      args: unknown,
      log: DecisionLog,
    ): Authorized<R> => {
      const state = stateOf(tool.name, request, args, log);
      checkTool(state, tool);
      return {
        request: withPermits(request, state, tool),
        ...createPathDecisions(state, tool),
        keepGrants: (thrown) => keepGrants(state, thrown),
      };
    },
    /**
     * Throws unless the caller may do all of these, which are no tools; nobody is asked. Returns the origin of the work, and
     * its widest effect.
     */
    authorizeEndpoint: <R extends Origin>(
      names: readonly [string, ...string[]],
      origin: R,
      log: DecisionLog,
    ): { readonly origin: R; readonly effect: Effect } => {
      const [called] = names;
      const subjects = names.map((name) => endpointSubject(name, parts.workspace));
      const decided = subjects.map((subject) => ({ subject, ...explain(subject, origin.caller) }));
      const refused = decided.find(({ outcome }) => outcome !== "allow");
      const isEgress = subjects.some(({ action }) => action.groups.includes("egress"));
      const effect = isEgress ? "egress" : "read";
      log.decide({
        allowed: refused === undefined,
        policies: refused?.decision.policies ?? decided.flatMap((one) => one.decision.policies),
        about: "call",
        tool: called,
        effect,
        isReadOnly: effect === "read",
      });
      if (refused !== undefined)
        throw refuseByPolicy(
          { name: called, explain: explainTool(refused.subject.action.name), caller: origin.caller },
          refused.decision,
        );
      const state = stateOf(called, origin, undefined, log);
      return { origin: withPermits(origin, state), effect };
    },
    mayUseEndpoint: (name: string, caller: Caller): boolean =>
      explain(endpointSubject(name, parts.workspace), caller).outcome === "allow",
    /** Throws unless the caller may use an endpoint that does no work. */
    checkEndpoint: (name: string, caller: Caller): void => {
      const { outcome, decision } = explain(endpointSubject(name, parts.workspace), caller);
      if (outcome !== "allow") throw refuseByPolicy({ name, explain: explainTool(name), caller }, decision);
    },
    /** Whether a tool could be allowed to this caller at all, if need be by the user. */
    isPossible: (tool: Called, caller: Caller): boolean => {
      const { outcome, decision } = explain(wholeSubject(actionOf(tool), parts.workspace), caller);
      // Without a list no client would call anything, and nobody would learn that a policy file has to be fixed.
      return outcome !== "deny" || decision.brokenAt !== undefined;
    },
    explain,
  };
};

export type Authorizer = ReturnType<typeof createAuthorizer>;
