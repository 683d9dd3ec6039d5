import { setDeadline } from "../base/deadline-of.ts";
import { LlmcError } from "../base/error.ts";

const timedOut = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `The call passed its deadline of ${timeoutMs / 1000} s.`, {
    hint: "Ask for less, or raise mcp.request_timeout_seconds.",
  });

/**
 * A signal that fires at the deadline or when the caller gives up, whichever is first, and forgets both when done. The
 * caller's signal may carry the LlmcError that explains why the call was cancelled.
 */
export const startDeadline = (timeoutMs: number, caller: AbortSignal | undefined) => {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  // If nobody races, its rejection must not end the process.
  stopped.catch(() => {});
  const controller = new AbortController();
  setDeadline(controller.signal, performance.timeOrigin + performance.now() + timeoutMs);
  const stop = (reason: LlmcError): void => {
    reject(reason);
    controller.abort(reason);
  };
  const giveUp = (): void =>
    stop(
      caller?.reason instanceof LlmcError
        ? caller.reason
        : new LlmcError("cancelled", "The call was cancelled."),
    );
  const timer = setTimeout(() => stop(timedOut(timeoutMs)), timeoutMs);
  if (caller?.aborted) giveUp();
  else caller?.addEventListener("abort", giveUp);
  return {
    signal: controller.signal,
    /**
     * The work's own result, or the reason of the signal: a tool that ignores its signal holds nobody up. A custom
     * module in plain JavaScript may well have its result at once.
     */
    race: <T>(work: T | Promise<T>): Promise<T> => Promise.race([stopped, work]),
    end: (): void => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", giveUp);
    },
  };
};
