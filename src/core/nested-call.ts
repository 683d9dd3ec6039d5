import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import type { ServerView, Tool } from "../tools/tool.ts";
import type { Authorizer } from "./authorizer.ts";
import { type Call, type CallResult, failedCall } from "./call.ts";
import { TOOL_LISTS } from "./catalogue.ts";
import type { Guard } from "./guard.ts";
import { canonicalName } from "./modes.ts";
import type { Origin } from "./origin.ts";
import { STUBS } from "./stubs/stub-path.ts";

/** Recorded as the way by which the call came. */
const ROUTE = "execute_code";

const refuseProgram = (): LlmcError =>
  new LlmcError("forbidden", "A program cannot start another one.", { hint: "Do the work in this program." });

type NestedFailure = Extract<Awaited<ReturnType<ServerView["callTool"]>>, { kind: "error" }>;

/** Programs call all tools: what a mode lists is none of their business. */
const unknownTool = (hint = TOOL_LISTS): string =>
  `There is no such tool. ${hint.replace(TOOL_LISTS, `${STUBS}/index.md lists all tools.`)}`;

const failedWith = ({ error, body }: Extract<CallResult, { kind: "error" }>): NestedFailure => ({
  kind: "error",
  error,
  failure: {
    code: body.meta.error_code,
    message: error.code === "unknown_tool" ? unknownTool(error.hint) : body.error,
    retryable: body.meta.retryable,
  },
});

/**
 * As a client's call would come, but for its own slot, and its progress, which is nobody's. What the caller may do is asked
 * anew: a token may have lost a scope since the program started.
 */
const nestedOrigin = ({
  caller,
  correlationId,
  traceparent,
  canAsk,
  canConsent,
  mayNow,
}: Origin): Origin => ({
  caller: { ...caller, may: mayNow?.() ?? caller.may },
  correlationId,
  traceparent,
  route: ROUTE,
  isNested: true,
  canAsk,
  canConsent,
});

/** Recorded as every refused call is, although it never reaches the pipe. */
const refuseNested = async (open: Guard["open"], origin: Origin, args: unknown): Promise<NestedFailure> => {
  const error = refuseProgram();
  const failed = failedCall(error, ROUTE, origin.correlationId);
  const log = open(origin, { tool: ROUTE, input: () => JSON.stringify(args ?? {}) });
  await log.ready();
  log.close(error, { truncated: false, output: () => JSON.stringify(failed.body) });
  return failedWith(failed);
};

/** The calls of programs: the same pipe as a client's, over all tools. */
export const createNestedCall =
  (call: () => Call, guard: () => Pick<Guard, "open" | "originOf">): ServerView["callTool"] =>
  async ({ tool, args, signal, answered }, context) => {
    const around = guard().originOf(context);
    if (around === undefined) throw new Error("a nested call without a call around it");
    const origin = nestedOrigin(around);
    if (canonicalName(tool) === ROUTE) return refuseNested(guard().open, origin, args);
    const result = await call()({
      ...origin,
      tool,
      args,
      signal,
      state: answered?.state,
      answers: isRecord(answered?.answers) ? answered.answers : undefined,
    });
    if (result.kind === "error") return failedWith(result);
    if (result.kind === "questions") return result;
    return { kind: "ok", value: result.structured ?? { content: result.content } };
  };

/** Whether there is a tool of that name, in any mode, which policy or the user could allow a caller. */
export const createMayCall =
  (
    allTools: () => Promise<readonly Tool[]>,
    { isPossible }: Pick<Authorizer, "isPossible">,
  ): ServerView["mayCall"] =>
  async (name, caller) => {
    const tool = (await allTools()).find((one) => one.name === canonicalName(name));
    return tool !== undefined && isPossible(tool, caller);
  };
