/** A deadline that can be stopped for a while, and the time that has passed otherwise. */
export interface Stopwatch {
  start(timeoutMs: number, onTimeout: () => void): void;
  pause(): void;
  resume(): void;
  /** Returns the milliseconds that counted. */
  stop(): number;
}

export const createStopwatch = (): Stopwatch => {
  let passedMs = 0;
  let since: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let limit: { readonly timeoutMs: number; readonly onTimeout: () => void } | undefined;
  const pause = (): void => {
    clearTimeout(timer);
    if (since !== undefined) passedMs += performance.now() - since;
    since = undefined;
  };
  const resume = (): void => {
    if (limit === undefined || since !== undefined) return;
    since = performance.now();
    timer = setTimeout(limit.onTimeout, Math.max(0, limit.timeoutMs - passedMs));
  };
  return {
    start: (timeoutMs, onTimeout) => {
      limit = { timeoutMs, onTimeout };
      resume();
    },
    pause,
    resume,
    stop: () => {
      pause();
      limit = undefined;
      return Math.round(passedMs * 10) / 10;
    },
  };
};
