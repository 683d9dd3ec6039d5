import { LlmcError } from "../base/error.ts";

/** A signal that fires at the deadline or when the caller gives up, whichever is first, and forgets both when done. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The work's own result, or the reason of the signal: a tool that ignores its signal holds nobody up. */
  race<T>(work: Promise<T>): Promise<T>;
  end(): void;
}

export const startDeadline = (timeoutMs: number, caller: AbortSignal | undefined): Deadline => {
  const controller = new AbortController();
  const giveUp = () => controller.abort(new LlmcError("cancelled", "The call was cancelled."));
  const timer = setTimeout(() => {
    controller.abort(
      new LlmcError("timeout", `The call passed its deadline of ${timeoutMs / 1000} s.`, {
        hint: "Ask for less, or raise mcp.request_timeout_seconds.",
      }),
    );
  }, timeoutMs);
  if (caller?.aborted) giveUp();
  else caller?.addEventListener("abort", giveUp, { once: true });

  let stop: (() => void) | undefined;
  return {
    signal: controller.signal,
    race: (work) =>
      new Promise((resolve, reject) => {
        stop = () => reject(controller.signal.reason);
        if (controller.signal.aborted) stop();
        else controller.signal.addEventListener("abort", stop, { once: true });
        work.then(resolve, reject);
      }),
    end: () => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", giveUp);
      if (stop !== undefined) controller.signal.removeEventListener("abort", stop);
    },
  };
};
