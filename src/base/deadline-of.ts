const deadlines = new WeakMap<AbortSignal, number>();

/**
 * Lets work that is handed a signal know when it will fire, so that it can answer with what it has before that. In
 * milliseconds since the epoch by a clock that all threads share and nobody sets back: `performance.timeOrigin +
 * performance.now()`.
 */
export const setDeadline = (signal: AbortSignal, deadlineMs: number): void =>
  void deadlines.set(signal, deadlineMs);

/** Infinity where there is none. */
export const deadlineOf = (signal: AbortSignal | undefined): number =>
  (signal && deadlines.get(signal)) ?? Number.POSITIVE_INFINITY;
