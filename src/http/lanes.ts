import { LlmcError } from "../base/error.ts";
import { createGate, type Gate } from "../core/gate.ts";

export interface LaneLimits {
  /** Calls of one token that run at the same time. */
  readonly maxRunning: number;
  /** Calls of one token that may wait for a place. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface Waiter {
  /** Fires when the caller goes. Read by those that have to wait only: most never need one. */
  readonly signal: AbortSignal;
}

/** One gate for each token, so that one of them cannot take all places of the server. */
export const createLanes = (limits: () => LaneLimits, onRefused: (name: string) => void) => {
  // As many as there are tokens, which are named in the configuration.
  const gates = new Map<string, Gate>();

  const gateOf = (name: string): Gate => {
    const known = gates.get(name);
    if (known !== undefined) return known;
    const gate = createGate(limits);
    gates.set(name, gate);
    return gate;
  };

  const wait = async (name: string, gate: Gate, { signal }: Waiter): Promise<void> => {
    const { maxWaitMs } = limits();
    try {
      await gate.wait(AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]));
    } catch (thrown) {
      if (signal.aborted) throw new LlmcError("cancelled", "The call was cancelled.", { cause: thrown });
      onRefused(name);
      throw new LlmcError("rate_limited", "Too many calls of this token are under way.", {
        hint: "Wait for some of them to finish, or raise mcp.limits.concurrency_per_token.",
        details: { retry_after_ms: 1000 },
        cause: thrown,
      });
    }
  };

  return {
    /** Runs the work within a place of its token's lane. */
    run: async <T>(name: string, caller: Waiter, work: () => Promise<T>): Promise<T> => {
      const gate = gateOf(name);
      if (!gate.tryEnter()) await wait(name, gate, caller);
      try {
        return await work();
      } finally {
        gate.release();
      }
    },
  };
};

export type Lanes = ReturnType<typeof createLanes>;
