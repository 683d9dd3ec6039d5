import { LlmcError } from "../base/error.ts";

/** Deadlines and cancellations arrive as the signal's reason; the reason that is an error of ours is the one to tell. */
export const stopIfAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted !== true) return;
  const reason: unknown = signal.reason;
  if (reason instanceof LlmcError) throw reason;
  throw new LlmcError("cancelled", "The call was cancelled.", { cause: reason });
};
