import { LlmcError } from "./error.ts";
import { stopIfAborted } from "./stop-if-aborted.ts";

export interface QueueLimits {
  /** Of all principals; infinite where each has a queue for itself. */
  readonly maxRunning: number;
  /** Of one principal. Below `maxRunning`, no principal can ever hold every slot. By default, as many as there are. */
  readonly maxRunningEach?: number;
  /** Of one principal: beyond it, work is refused at once, so that nothing piles up and nobody fills the queue for others. */
  readonly maxWaiting: number;
}

interface Waiter {
  readonly enter: () => void;
}

/** What one principal has in the queue; forgotten when it has nothing. */
interface Share {
  running: number;
  /** Made when somebody waits: most calls start at once. */
  waiting: Set<Waiter> | undefined;
}

const tooMany = (running: number, waiting: number): LlmcError =>
  new LlmcError("busy", "Too many calls are under way.", {
    hint: "Wait for some of them to finish, then try again.",
    details: { running, waiting },
  });

/** The shares of all principals, those whose turn is next first. */
const createShares = (limits: () => QueueLimits) => {
  const shares = new Map<string, Share>();
  let running = 0;

  const shareOf = (principal: string): Share => {
    const known = shares.get(principal) ?? { running: 0, waiting: undefined };
    shares.set(principal, known);
    return known;
  };
  const forgetIfEmpty = (principal: string, share: Share): void => {
    if (share.running === 0 && (share.waiting?.size ?? 0) === 0) shares.delete(principal);
  };

  const tryEnter = (principal: string): boolean => {
    const { maxRunning, maxRunningEach = maxRunning } = limits();
    const mine = shares.get(principal)?.running ?? 0;
    if (running >= maxRunning || mine >= maxRunningEach) return false;
    shareOf(principal).running = mine + 1;
    running++;
    return true;
  };

  /** Lets in the first that waits of a principal, if it may start. */
  const admit = (principal: string, share: Share): boolean => {
    const [next] = share.waiting ?? [];
    if (next === undefined || !tryEnter(principal)) return false;
    share.waiting?.delete(next);
    // Whoever had a turn goes to the end.
    shares.delete(principal);
    shares.set(principal, share);
    next.enter();
    return true;
  };
  const admitNext = (): boolean => {
    for (const [principal, share] of shares) if (admit(principal, share)) return true;
    return false;
  };

  return {
    running: () => running,
    waiting: () => [...shares.values()].reduce((sum, { waiting }) => sum + (waiting?.size ?? 0), 0),
    shareOf,
    forgetIfEmpty,
    tryEnter,
    release: (principal: string): void => {
      const share = shareOf(principal);
      share.running--;
      running--;
      forgetIfEmpty(principal, share);
      // Where each has a queue for itself, nobody else waited for this; thousands of locks may be held at once.
      if (limits().maxRunning === Number.POSITIVE_INFINITY) while (admit(principal, share));
      else while (admitNext());
    },
  };
};

/**
 * Bounds how much work runs at once and how much waits. Free slots go to the principals that wait in turn, and for each
 * of them first come first served. Where all work is of one kind of owner, the principal is left out.
 */
export type BoundedQueue = ReturnType<typeof createBoundedQueue>;

/** One at a time of each key, which stands for the principal; any number may wait. */
export const ONE_OF_EACH: QueueLimits = {
  maxRunning: Number.POSITIVE_INFINITY,
  maxRunningEach: 1,
  maxWaiting: Number.POSITIVE_INFINITY,
};

/** The limits are read each time, because the configuration can change. */
export const createBoundedQueue = (limits: () => QueueLimits, refuse = tooMany) => {
  const shares = createShares(limits);

  const wait = async (
    signal?: AbortSignal,
    principal = "",
    who: "is new" | "comes back" = "is new",
  ): Promise<void> => {
    // A signal that has already fired does not fire again, so the caller would wait forever.
    signal?.throwIfAborted();
    const share = shares.shareOf(principal);
    share.waiting ??= new Set();
    const { waiting } = share;
    if (who === "is new" && waiting.size >= limits().maxWaiting) {
      shares.forgetIfEmpty(principal, share);
      throw refuse(shares.running(), waiting.size);
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        waiting.delete(waiter);
        shares.forgetIfEmpty(principal, share);
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

  const run = async <T>(work: () => Promise<T>, signal?: AbortSignal, principal = ""): Promise<T> => {
    stopIfAborted(signal);
    if (!shares.tryEnter(principal))
      await wait(signal, principal).catch((error: unknown) => {
        stopIfAborted(signal);
        throw error;
      });
    try {
      return await work();
    } finally {
      shares.release(principal);
    }
  };

  return {
    /** Starts if that is possible at once; whoever has started calls `release` in the end. */
    tryEnter: (principal = ""): boolean => shares.tryEnter(principal),
    /**
     * Waits to start. Rejects with the signal's reason, and with `busy` if too many are already waiting; what has begun, and
     * released its place for a while, may always wait to come back.
     */
    wait,
    release: (principal = ""): void => shares.release(principal),
    /** How much runs and how much waits at the moment, of all principals. */
    load: () => ({ running: shares.running(), waiting: shares.waiting() }),
    /** Runs the work within the limits. */
    run,
  };
};
