import { type BoundedQueue, createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";
import type { Slot } from "../../core/origin.ts";

export interface ConcurrencyLimits {
  /** Calls of one token that run at the same time. */
  readonly maxRunning: number;
  /** Calls of one token that may wait for a free slot. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** Calls of one token that wait for their client and have given their slot back; further ones keep theirs. */
const MAX_WITHOUT_SLOT = 32;

type Queue = Pick<BoundedQueue, "tryEnter" | "wait" | "release">;

/**
 * The slot of one request. It is given back when the request and everything that was started in it has ended, and while all
 * that is left to do is to wait for the client.
 */
const createSlot = (queue: Queue, tokenName: string, withoutSlot: Set<object>): Slot & Disposable => {
  let isTaken = true;
  let isOpen = true;
  let working = 0;
  let waiting = 0;

  const giveBackIfUnused = (): void => {
    if (!isTaken || working > 0 || (isOpen && waiting === 0)) return;
    isTaken = false;
    queue.release(tokenName);
  };
  const takeAgain = async (signal: AbortSignal | undefined): Promise<void> => {
    if (!queue.tryEnter(tokenName))
      await queue.wait(signal, tokenName, "comes back").catch((cause: unknown) => {
        throw new LlmcError("cancelled", "The call was cancelled.", { cause });
      });
    // Other work of this request was faster.
    if (isTaken) queue.release(tokenName);
    isTaken = true;
  };

  return {
    hold: async (work, signal) => {
      working++;
      try {
        if (!isTaken) await takeAgain(signal);
        return await work();
      } finally {
        working--;
        giveBackIfUnused();
      }
    },
    leave: async (wait) => {
      if (withoutSlot.size >= MAX_WITHOUT_SLOT) return wait();
      const mark = {};
      withoutSlot.add(mark);
      waiting++;
      giveBackIfUnused();
      try {
        return await wait();
      } finally {
        waiting--;
        withoutSlot.delete(mark);
      }
    },
    [Symbol.dispose]: () => {
      isOpen = false;
      giveBackIfUnused();
    },
  };
};

/** One queue for each token, so that one token cannot use up the whole server. */
export const createConcurrencyLimiter = (
  limits: () => ConcurrencyLimits,
  onRefused: (tokenName: string, correlationId: string) => void,
) => {
  const queue = createBoundedQueue(() => {
    const { maxRunning, maxWaiting } = limits();
    return { maxRunning: Number.POSITIVE_INFINITY, maxRunningEach: maxRunning, maxWaiting };
  });

  const wait = async (tokenName: string, signal: AbortSignal, correlationId: string): Promise<void> => {
    const { maxWaitMs } = limits();
    try {
      await queue.wait(AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]), tokenName);
    } catch (thrown) {
      if (signal.aborted) throw new LlmcError("cancelled", "The call was cancelled.", { cause: thrown });
      onRefused(tokenName, correlationId);
      throw new LlmcError("rate_limited", "Too many calls of this token are running or waiting.", {
        hint: "Wait for some of them to finish, or raise mcp.limits.concurrency_per_token.",
        details: { retry_after_ms: 1000 },
        cause: thrown,
      });
    }
  };

  /** By token: what waits for its client without a slot. */
  const withoutSlot = new Map<string, Set<object>>();

  return {
    /** Does the work as soon as the token has a free slot. The slot stays taken until everything that was started in it has ended. */
    run: async <T>(
      tokenName: string,
      signal: AbortSignal,
      work: (slot: Slot) => Promise<T>,
      correlationId = "",
    ): Promise<T> => {
      if (!queue.tryEnter(tokenName)) await wait(tokenName, signal, correlationId);
      const ofToken = withoutSlot.get(tokenName) ?? new Set<object>();
      withoutSlot.set(tokenName, ofToken);
      using slot = createSlot(queue, tokenName, ofToken);
      return await work(slot);
    },
  };
};

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;
