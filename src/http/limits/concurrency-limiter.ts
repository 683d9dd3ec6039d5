import { type BoundedQueue, createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";

export interface ConcurrencyLimits {
  /** Calls of one token that run at the same time. */
  readonly maxRunning: number;
  /** Calls of one token that may wait for a free slot. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** Does work in a place that was taken before, and keeps the place until this work has ended as well. */
export type Hold = <T>(work: () => Promise<T>) => Promise<T>;

/** A place that is given back when everything that began in it has ended; then nothing more can begin in it. */
const holdUntilEnded = (giveBack: () => void): Hold => {
  let underWay = 0;
  let isGivenBack = false;
  return async (work) => {
    if (isGivenBack) throw new LlmcError("cancelled", "The client has disconnected.");
    underWay++;
    try {
      return await work();
    } finally {
      if (--underWay === 0) {
        isGivenBack = true;
        giveBack();
      }
    }
  };
};

/** One queue for each token, so that one token cannot use up the whole server. */
export const createConcurrencyLimiter = (
  limits: () => ConcurrencyLimits,
  onRefused: (tokenName: string, correlationId: string) => void,
) => {
  // Bounded by the number of tokens in the configuration.
  const queues = new Map<string, BoundedQueue>();

  const queueOf = (tokenName: string): BoundedQueue => {
    const known = queues.get(tokenName);
    if (known !== undefined) return known;
    const queue = createBoundedQueue(limits);
    queues.set(tokenName, queue);
    return queue;
  };

  const wait = async (
    tokenName: string,
    queue: BoundedQueue,
    signal: AbortSignal,
    correlationId: string,
  ): Promise<void> => {
    const { maxWaitMs } = limits();
    try {
      await queue.wait(AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]));
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

  return {
    /** Does the work as soon as the token has a free slot. What it begins and does not wait for, it holds the slot for. */
    run: async <T>(
      tokenName: string,
      signal: AbortSignal,
      work: (hold: Hold) => Promise<T>,
      correlationId = "",
    ): Promise<T> => {
      const queue = queueOf(tokenName);
      if (!queue.tryEnter()) await wait(tokenName, queue, signal, correlationId);
      const hold = holdUntilEnded(() => queue.release());
      return hold(() => work(hold));
    },
  };
};

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;
