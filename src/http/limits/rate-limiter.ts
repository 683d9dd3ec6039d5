/** A token bucket: `burst` requests at once, refilled at `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** Time until the next request is allowed; 0 if this one is. */
  readonly retryAfterMs: number;
}

/**
 * Counts requests by key. In memory for one server; servers that share a load keep their buckets in one store, which
 * decides in one atomic step.
 */
export interface RateLimiter {
  consume(key: string, limit: RateLimit): Promise<RateDecision>;
  close(): Promise<void>;
}

const ALLOWED: RateDecision = { allowed: true, retryAfterMs: 0 };

/**
 * The generic cell rate algorithm: a bucket is one number, the time at which it will be full again (undefined: it is
 * full now). Returns the decision and that time after it.
 */
const decide = (
  fullAt: number | undefined,
  nowMs: number,
  { perSecond, burst }: RateLimit,
): { readonly decision: RateDecision; readonly fullAt: number } => {
  const intervalMs = 1000 / perSecond;
  const from = Math.max(nowMs, fullAt ?? 0);
  const next = from + intervalMs;
  const waitMs = next - burst * intervalMs - nowMs;
  // The tolerance keeps rounding from refusing the last request of a burst.
  if (waitMs > 1e-6) return { decision: { allowed: false, retryAfterMs: waitMs }, fullAt: from };
  return { decision: ALLOWED, fullAt: next };
};

/** At this many buckets, the full ones and then the oldest are dropped. A dropped bucket counts as full. */
const MAX_BUCKETS = 10_000;

/** Looking for full ones goes through all of them: a flood of new keys must not have that done for each. */
const SWEEP_MS = 1000;

export const createTokenBuckets = (now: () => number, maxBuckets = MAX_BUCKETS) => {
  const buckets = new Map<string, number>();

  let sweepAt = Number.NEGATIVE_INFINITY;

  const makeRoom = (nowMs: number): void => {
    if (nowMs >= sweepAt) {
      for (const [key, fullAt] of buckets) if (fullAt <= nowMs) buckets.delete(key);
      sweepAt = nowMs + SWEEP_MS;
    }
    for (const key of buckets.keys()) {
      if (buckets.size < maxBuckets) return;
      buckets.delete(key);
    }
  };

  return {
    /** What `consume` would decide. */
    peek: (key: string, limit: RateLimit): RateDecision => decide(buckets.get(key), now(), limit).decision,
    consume: (key: string, limit: RateLimit): RateDecision => {
      const nowMs = now();
      const known = buckets.get(key);
      const { decision, fullAt } = decide(known, nowMs, limit);
      if (known === undefined && buckets.size >= maxBuckets) makeRoom(nowMs);
      buckets.set(key, fullAt);
      return decision;
    },
    count: () => buckets.size,
  };
};

export const createMemoryRateLimiter = (
  now: () => number,
  buckets = createTokenBuckets(now),
): RateLimiter => ({
  consume: async (key, limit) => buckets.consume(key, limit),
  close: async () => {},
});
