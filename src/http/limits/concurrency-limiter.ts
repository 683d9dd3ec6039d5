import { type BoundedQueue, createBoundedQueue } from "../../base/bounded-queue.ts";
import { LlmcError } from "../../base/error.ts";

export interface ConcurrencyLimits {
  /** Calls of one token that run at the same time. */
  readonly maxRunning: number;
  /** Calls of one token that may wait for a free slot. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

/** One queue for each token, so that one token cannot use up the whole server. */
export const createConcurrencyLimiter = (
  limits: () => ConcurrencyLimits,
  onRefused: (tokenName: string) => void,
) => {
  // Bounded by the number of tokens in the configuration.
  const gates = new Map<string, BoundedQueue>();

  const gateOf = (tokenName: string): BoundedQueue => {
    const known = gates.get(tokenName);
    if (known !== undefined) return known;
    const gate = createBoundedQueue(limits);
    gates.set(tokenName, gate);
    return gate;
  };

  const wait = async (tokenName: string, gate: BoundedQueue, signal: AbortSignal): Promise<void> => {
    const { maxWaitMs } = limits();
    try {
      await gate.wait(AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]));
    } catch (thrown) {
      if (signal.aborted) throw new LlmcError("cancelled", "The call was cancelled.", { cause: thrown });
      onRefused(tokenName);
      throw new LlmcError("rate_limited", "Too many calls of this token are running or waiting.", {
        hint: "Wait for some of them to finish, or raise mcp.limits.concurrency_per_token.",
        details: { retry_after_ms: 1000 },
        cause: thrown,
      });
    }
  };

  return {
    /** Does the work as soon as the token has a free slot. */
    run: async <T>(tokenName: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
      const gate = gateOf(tokenName);
      if (!gate.tryEnter()) await wait(tokenName, gate, signal);
      try {
        return await work();
      } finally {
        gate.release();
      }
    },
  };
};

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;
