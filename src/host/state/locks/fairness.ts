// Another process has to poll for a lock, so one that always has the next caller ready would never leave it a gap. After
// holding a lock for this long in a row, it stays away for a little longer than the longest pause between two polls.
const SERIES_MS = 200;
const PAUSE_MS = 60;
const MAX_KEYS = 1000;

/** Gives other processes a chance at the locks they wait for. Times are of a monotonic clock. */
export interface Fairness {
  /** For how long this process has to stay away from these keys. */
  pauseMs(keys: readonly string[], nowMs: number): number;
  /** A lock was released while another process waited for it. */
  released(key: string, acquiredMs: number, nowMs: number): void;
}

export const createFairness = (): Fairness => {
  const series = new Map<string, { sinceMs: number; lastMs: number; pauseUntilMs: number }>();
  return {
    pauseMs: (keys, nowMs) => {
      if (series.size === 0) return 0;
      let untilMs = nowMs;
      for (const key of keys) untilMs = Math.max(untilMs, series.get(key)?.pauseUntilMs ?? 0);
      return untilMs - nowMs;
    },
    released: (key, acquiredMs, nowMs) => {
      const known = series.get(key);
      const isBroken = known === undefined || known.pauseUntilMs > 0 || acquiredMs - known.lastMs > SERIES_MS;
      const sinceMs = isBroken ? acquiredMs : known.sinceMs;
      if (series.size > MAX_KEYS) series.clear();
      const pauseUntilMs = nowMs - sinceMs >= SERIES_MS ? nowMs + PAUSE_MS : 0;
      series.set(key, { sinceMs, lastMs: nowMs, pauseUntilMs });
    },
  };
};
