// A process that always has the next caller ready would never leave another process, which has to poll, a gap. So
// after this long a series it stays away for a little more than the longest pause between two polls.
const SERIES_MS = 200;
const PAUSE_MS = 60;
const MAX_KEYS = 1000;

/** Lets other processes have their turn on keys that they wait for. Times are of a clock that never jumps. */
export interface Turns {
  /** Milliseconds that this process stays away from these keys. */
  pauseMs(keys: readonly string[], nowMs: number): number;
  /** A key was let go while another process waited for it. */
  letGo(key: string, acquiredMs: number, nowMs: number): void;
}

export const createTurns = (): Turns => {
  const series = new Map<string, { sinceMs: number; lastMs: number; pauseUntilMs: number }>();
  return {
    pauseMs: (keys, nowMs) => {
      if (series.size === 0) return 0;
      let untilMs = nowMs;
      for (const key of keys) untilMs = Math.max(untilMs, series.get(key)?.pauseUntilMs ?? 0);
      return untilMs - nowMs;
    },
    letGo: (key, acquiredMs, nowMs) => {
      const known = series.get(key);
      const isBroken = known === undefined || known.pauseUntilMs > 0 || acquiredMs - known.lastMs > SERIES_MS;
      const sinceMs = isBroken ? acquiredMs : known.sinceMs;
      if (series.size > MAX_KEYS) series.clear();
      const pauseUntilMs = nowMs - sinceMs >= SERIES_MS ? nowMs + PAUSE_MS : 0;
      series.set(key, { sinceMs, lastMs: nowMs, pauseUntilMs });
    },
  };
};
