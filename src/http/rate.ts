/** A token bucket: `burst` requests at once, refilled with `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

export interface RateVerdict {
  readonly allowed: boolean;
  /** How long until the next one is allowed; 0 where this one is. */
  readonly retryAfterMs: number;
}

/**
 * Where buckets are kept. In memory for one machine; several machines that share a load keep them in one place, which
 * takes one atomic step there. A store that answers at once costs no turn of the event loop.
 */
export interface RateStore {
  take(key: string, limit: RateLimit): RateVerdict | Promise<RateVerdict>;
  close(): Promise<void>;
}

const ALLOWED: RateVerdict = { allowed: true, retryAfterMs: 0 };

/**
 * A bucket as one number (the generic cell rate algorithm): the time at which it will be full again. `fullAt` is that
 * time or undefined for a full bucket; the answer has the new one, unless nothing was taken.
 */
const takeFrom = (
  fullAt: number | undefined,
  nowMs: number,
  { perSecond, burst }: RateLimit,
): { readonly verdict: RateVerdict; readonly fullAt: number } => {
  const intervalMs = 1000 / perSecond;
  const from = Math.max(nowMs, fullAt ?? 0);
  const next = from + intervalMs;
  const waitMs = next - burst * intervalMs - nowMs;
  // A bucket of exactly `burst` must not miss one to rounding.
  if (waitMs > 1e-6) return { verdict: { allowed: false, retryAfterMs: waitMs }, fullAt: from };
  return { verdict: ALLOWED, fullAt: next };
};

/** Buckets beyond this are forgotten, fullest first: a forgotten bucket is a full one. */
const MAX_BUCKETS = 10_000;

export const createBuckets = (now: () => number, maxBuckets = MAX_BUCKETS) => {
  const buckets = new Map<string, number>();

  const makeRoom = (nowMs: number): void => {
    for (const [key, fullAt] of buckets) if (fullAt <= nowMs) buckets.delete(key);
    for (const key of buckets.keys()) {
      if (buckets.size < maxBuckets) return;
      buckets.delete(key);
    }
  };

  return {
    /** What `take` would say. */
    look: (key: string, limit: RateLimit): RateVerdict => takeFrom(buckets.get(key), now(), limit).verdict,
    take: (key: string, limit: RateLimit): RateVerdict => {
      const nowMs = now();
      const known = buckets.get(key);
      const { verdict, fullAt } = takeFrom(known, nowMs, limit);
      if (known === undefined && buckets.size >= maxBuckets) makeRoom(nowMs);
      buckets.set(key, fullAt);
      return verdict;
    },
    count: () => buckets.size,
  };
};

export const createMemoryRates = (now: () => number): RateStore => ({
  take: createBuckets(now).take,
  close: async () => {},
});
