import { LlmcError } from "../base/error.ts";

interface GateLimits {
  readonly maxRunning: number;
  readonly maxWaiting: number;
}

interface Waiter {
  readonly enter: () => void;
  readonly leave: (error: unknown) => void;
}

/** Bounds how many calls run and how many wait; one more is refused at once, so that nothing piles up. */
export const createGate = (limits: () => GateLimits) => {
  let running = 0;
  const waiting = new Set<Waiter>();

  const release = (): void => {
    running--;
    const [next] = waiting;
    if (next !== undefined && running < limits().maxRunning) {
      waiting.delete(next);
      running++;
      next.enter();
    }
  };

  /** Takes a place if one is free. */
  const tryEnter = (): boolean => {
    if (running >= limits().maxRunning) return false;
    running++;
    return true;
  };

  /** Waits for a place; refused at once where too many wait already. */
  const wait = (signal: AbortSignal): Promise<void> => {
    // A signal that has fired does not fire again: its call would hold a place in the queue for nothing.
    signal.throwIfAborted();
    if (waiting.size >= limits().maxWaiting) {
      throw new LlmcError("busy", "Too many calls are under way.", {
        hint: "Wait for some of them to finish, then try again.",
        details: { running, waiting: waiting.size },
      });
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { enter: settle(resolve), leave: settle(reject) };
      const onAbort = () => {
        waiting.delete(waiter);
        waiter.leave(signal.reason);
      };
      function settle<T>(finish: (value: T) => void): (value: T) => void {
        return (value) => {
          signal.removeEventListener("abort", onAbort);
          finish(value);
        };
      }
      signal.addEventListener("abort", onAbort, { once: true });
      waiting.add(waiter);
    });
  };

  return { tryEnter, wait, release };
};

export type Gate = ReturnType<typeof createGate>;
