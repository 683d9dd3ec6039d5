import { createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";

export interface ConcurrencyLimits {
  /** Calls of one token that run at the same time. */
  readonly maxRunning: number;
  /** Calls of one token that may wait for a free slot. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** Does work in a slot that was taken before: the slot stays taken until all work of this kind has ended. */
export type Hold = <T>(work: () => Promise<T>) => Promise<T>;

/** The slot is released when everything that was started in it has ended; then nothing more can start in it. */
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

  return {
    /** Does the work as soon as the token has a free slot. The slot stays taken until everything started through `hold` has ended. */
    run: async <T>(
      tokenName: string,
      signal: AbortSignal,
      work: (hold: Hold) => Promise<T>,
      correlationId = "",
    ): Promise<T> => {
      if (!queue.tryEnter(tokenName)) await wait(tokenName, signal, correlationId);
      const hold = holdUntilEnded(() => queue.release(tokenName));
      return hold(() => work(hold));
    },
  };
};

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;
