import { LlmcError, renderForModel } from "../base/error.ts";
import { familyOf } from "../base/error-table.ts";
import { isRecord } from "../base/is-record.ts";
import type { ServerView } from "../tools/tool.ts";
import type { Call, CallResult } from "./call.ts";
import type { Guard } from "./guard.ts";
import { canonicalName } from "./modes.ts";
import type { Origin } from "./origin.ts";
import { STUBS } from "./stubs/stub-path.ts";

/** Recorded as the way by which the call came. */
const ROUTE = "execute_code";

const refuseProgram = (): LlmcError =>
  new LlmcError("forbidden", "A program cannot start another one.", { hint: "Do the work in this program." });

const failureOf = ({ error, body }: Extract<CallResult, { kind: "error" }>) => ({
  code: body.meta.error_code,
  // Programs call all tools: what a mode lists is none of their business.
  message:
    error.code === "unknown_tool" ? `There is no such tool. ${STUBS}/index.md lists all tools.` : body.error,
  retryable: body.meta.retryable,
});

const cannotAsk = (): boolean => false;

/** As a client's call would come, but for its own slot, and its progress, which is nobody's. */
const nestedOrigin = ({ caller, correlationId, traceparent, wasAsked, ...origin }: Origin): Origin => ({
  caller,
  correlationId,
  traceparent,
  route: ROUTE,
  isNested: true,
  ...(wasAsked === true
    ? { canAsk: cannotAsk, canConsent: false }
    : { canAsk: origin.canAsk, canConsent: origin.canConsent }),
});

/** The calls of programs: the same pipe as a client's, over all tools. */
export const createNestedCall =
  (call: () => Call, originOf: Guard["originOf"]): ServerView["callTool"] =>
  async ({ tool, args, signal, answered }, context) => {
    const origin = originOf(context);
    if (origin === undefined) throw new Error("a nested call without a call around it");
    if (canonicalName(tool) === ROUTE) {
      const error = refuseProgram();
      const body = renderForModel(error, familyOf(ROUTE), origin.correlationId);
      return { kind: "error", failure: failureOf({ kind: "error", error, body }) };
    }
    const result = await call()({
      ...nestedOrigin(origin),
      tool,
      args,
      signal,
      state: answered?.state,
      answers: isRecord(answered?.answers) ? answered.answers : undefined,
    });
    if (result.kind === "error") return { kind: "error", failure: failureOf(result) };
    if (result.kind === "questions") return result;
    return { kind: "ok", value: result.structured ?? { content: result.content } };
  };
