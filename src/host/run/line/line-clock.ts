/** The time that a line may run. What it waits for others does not count, and is bounded by the same time once more. */
export interface LineClock {
  readonly limitMs: number;
  /** Fires when the time is used up. */
  readonly signal: AbortSignal;
  leftMs(): number;
  waitLeftMs(): number;
  /** Stops the clock while the line waits; the returned function starts it again, once. */
  pause(): () => void;
  /** Forgets the timer. */
  end(): void;
}

export const createLineClock = (limitMs: number): LineClock => {
  const controller = new AbortController();
  let usedMs = 0;
  let waitedMs = 0;
  let startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const leftMs = (): number =>
    limitMs - usedMs - (timer === undefined ? 0 : Math.max(0, performance.now() - startedAt));
  const start = (): void => {
    startedAt = performance.now();
    timer = setTimeout(() => controller.abort(), Math.max(0, limitMs - usedMs)).unref();
  };
  const stop = (): void => {
    usedMs = limitMs - leftMs();
    clearTimeout(timer);
    timer = undefined;
  };
  start();
  return {
    limitMs,
    signal: controller.signal,
    leftMs,
    waitLeftMs: () => limitMs - waitedMs,
    pause: () => {
      if (timer === undefined) return () => {};
      stop();
      const pausedAt = performance.now();
      return () => {
        if (timer !== undefined) return;
        waitedMs += performance.now() - pausedAt;
        start();
      };
    },
    end: stop,
  };
};
