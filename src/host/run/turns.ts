import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";

interface TurnLimits {
  readonly maxRunning: number;
  readonly maxWaiting: number;
}

/** Bounds how many commands run at once and how many wait; one more is refused, so that other calls find a place. */
export const createTurns = ({ maxRunning, maxWaiting }: TurnLimits) => {
  let running = 0;
  const waiting = new Set<() => void>();

  const wait = async (signal: AbortSignal | undefined): Promise<void> => {
    if (waiting.size >= maxWaiting)
      throw new LlmcError("busy", `${running} commands are running and ${waiting.size} wait already.`, {
        hint: "Wait for some of them to end, then try again.",
      });
    let enter: (() => void) | undefined;
    await new Promise<void>((resolve) => {
      enter = resolve;
      waiting.add(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
    // Still in the queue: it was the caller who gave up, and nobody made room for it.
    if (enter !== undefined && waiting.delete(enter)) stopIfAborted(signal);
  };

  return async <T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
    stopIfAborted(signal);
    // Whoever leaves hands the place on, so that it is never seen free by somebody who comes in between.
    if (running >= maxRunning) await wait(signal);
    else running++;
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) running--;
      else {
        waiting.delete(next);
        next();
      }
    }
  };
};
