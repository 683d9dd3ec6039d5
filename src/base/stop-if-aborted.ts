import { LlmcError } from "../base/error.ts";

/** Throws if the signal has fired: with its reason, if that is an error of ours (a deadline, a revoked token). */
export const stopIfAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted !== true) return;
  const reason: unknown = signal.reason;
  if (reason instanceof LlmcError) throw reason;
  throw new LlmcError("cancelled", "The call was cancelled.", { cause: reason });
};
