import type { BoundedQueue } from "../base/bounded-queue.ts";

/** The slot of one program among those that run. */
export interface ProgramSlot {
  /** Waits for it, unless it is held already or the program has ended. */
  take(signal: AbortSignal, onWait?: () => void): Promise<void>;
  /** Lets somebody else run. */
  give(): void;
  /** The program has ended: the slot is never taken again, not even by a caller that is waiting for it. */
  close(): void;
}

export const createProgramSlot = (queue: BoundedQueue, principal: string): ProgramSlot => {
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
      // It may have ended after the slot was granted and before this ran.
      if (closing.signal.aborted) give();
    },
    close: () => closing.abort(),
  };
};

/** The slots of one analysis: one of its own, and more for further interpreters where some are free. */
export interface AnalysisSlots {
  /** Waits for one. */
  take(signal: AbortSignal): Promise<void>;
  /** Takes another one if it is free now. A holder never waits for another one: two could wait for each other. */
  tryTake(): boolean;
  give(): void;
  /** Lets others run while the client is asked. */
  suspend(): void;
  /** Waits for one slot again. Further interpreters that it had go on without theirs, until they give them back. */
  resume(signal: AbortSignal): Promise<void>;
}

export const createAnalysisSlots = (queue: BoundedQueue, principal: string): AnalysisSlots => {
  let [taken, held] = [0, 0];
  const settle = (): void => {
    for (; held > taken; held--) queue.release(principal);
  };
  const enter = async (signal: AbortSignal): Promise<void> => {
    if (!queue.tryEnter(principal)) await queue.wait(signal, principal);
    held++;
  };
  return {
    take: async (signal) => {
      await enter(signal);
      taken++;
    },
    tryTake: () => {
      const isSuspended = taken > 0 && held === 0;
      if (isSuspended || !queue.tryEnter(principal)) return false;
      held++;
      taken++;
      return true;
    },
    give: () => {
      taken--;
      settle();
    },
    suspend: () => {
      for (; held > 0; held--) queue.release(principal);
    },
    resume: async (signal) => {
      if (taken === 0 || held > 0) return;
      await enter(signal);
      // It may have ended meanwhile.
      settle();
    },
  };
};
