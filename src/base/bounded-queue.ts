import { LlmcError } from "./error.ts";
import { stopIfAborted } from "./stop-if-aborted.ts";

export interface QueueLimits {
  readonly maxRunning: number;
  /** Beyond it, work is refused at once, so that nothing piles up. */
  readonly maxWaiting: number;
}

/** Bounds how much work runs at once and how much waits, first come first served. */
export interface BoundedQueue {
  /** Starts if that is possible at once; whoever has started calls `release` in the end. */
  tryEnter(): boolean;
  /** Waits to start. Rejects with the signal's reason, and with `busy` if too many are already waiting. */
  wait(signal?: AbortSignal): Promise<void>;
  release(): void;
  /** Runs the work within the limits. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  isIdle(): boolean;
}

interface Waiter {
  readonly enter: () => void;
}

const tooMany = (running: number, waiting: number): LlmcError =>
  new LlmcError("busy", "Too many calls are under way.", {
    hint: "Wait for some of them to finish, then try again.",
    details: { running, waiting },
  });

/** The limits are read each time, because the configuration can change. */
export const createBoundedQueue = (limits: () => QueueLimits, refuse = tooMany): BoundedQueue => {
  let running = 0;
  const waiting = new Set<Waiter>();

  const tryEnter = (): boolean => {
    if (running >= limits().maxRunning) return false;
    running++;
    return true;
  };

  const release = (): void => {
    running--;
    const [next] = waiting;
    if (next === undefined || !tryEnter()) return;
    waiting.delete(next);
    next.enter();
  };

  const wait = async (signal?: AbortSignal): Promise<void> => {
    // A signal that has already fired does not fire again, so the caller would wait forever.
    signal?.throwIfAborted();
    if (waiting.size >= limits().maxWaiting) throw refuse(running, waiting.size);
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        waiting.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        enter: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      waiting.add(waiter);
    });
  };

  const run = async <T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    stopIfAborted(signal);
    if (!tryEnter())
      await wait(signal).catch((error: unknown) => {
        stopIfAborted(signal);
        throw error;
      });
    try {
      return await work();
    } finally {
      release();
    }
  };

  return { tryEnter, wait, release, run, isIdle: () => running === 0 && waiting.size === 0 };
};
