// Another process has to poll for a lock, so one that always has the next caller ready would never leave it a gap. After
// holding a lock for this long in a row, it stays away for a little longer than the longest pause between two polls.
const SERIES_MS = 200;
const PAUSE_MS = 60;
const MAX_KEYS = 1000;

/** Gives other processes a chance at the locks they wait for. Times are of a monotonic clock. */
export type Fairness = ReturnType<typeof createFairness>;

export const createFairness = () => {
  const series = new Map<string, { sinceMs: number; lastMs: number; pauseUntilMs: number }>();
  return {
    /** For how long this process has to stay away from these keys. */
    pauseMs: (keys: readonly string[], nowMs: number): number => {
      if (series.size === 0) return 0;
      let untilMs = nowMs;
      for (const key of keys) untilMs = Math.max(untilMs, series.get(key)?.pauseUntilMs ?? 0);
      return untilMs - nowMs;
    },
    /** A lock was released while another process waited for it. */
    released: (key: string, acquiredMs: number, nowMs: number): void => {
      const known = series.get(key);
      const isBroken = known === undefined || known.pauseUntilMs > 0 || acquiredMs - known.lastMs > SERIES_MS;
      const sinceMs = isBroken ? acquiredMs : known.sinceMs;
      if (series.size > MAX_KEYS) series.clear();
      const pauseUntilMs = nowMs - sinceMs >= SERIES_MS ? nowMs + PAUSE_MS : 0;
      series.set(key, { sinceMs, lastMs: nowMs, pauseUntilMs });
    },
  };
};
