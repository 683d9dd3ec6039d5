import type { BoundedQueue } from "../base/bounded-queue.ts";

/** The place of one program among those that run. */
export interface Turn {
  /** Waits for it, unless it is held already or the program has ended. */
  take(signal: AbortSignal, onWait?: () => void): Promise<void>;
  /** Lets somebody else run. */
  give(): void;
  /** The program has ended: the turn is never taken again, not even by a caller that is waiting for it. */
  close(): void;
}

export const createTurn = (queue: BoundedQueue, principal: string): Turn => {
  const closing = new AbortController();
  let isHeld = false;
  const give = (): void => {
    if (isHeld) queue.release(principal);
    isHeld = false;
  };
  return {
    give,
    take: async (signal, onWait) => {
      if (isHeld || closing.signal.aborted) return;
      try {
        if (!queue.tryEnter(principal)) {
          onWait?.();
          await queue.wait(AbortSignal.any([signal, closing.signal]), principal);
        }
      } catch (thrown) {
        if (closing.signal.aborted) return;
        throw thrown;
      }
      isHeld = true;
      // It may have ended after the turn was granted and before this ran.
      if (closing.signal.aborted) give();
    },
    close: () => closing.abort(),
  };
};
