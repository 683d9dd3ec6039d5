/** On the signal itself: the entries of a WeakMap are work for every collection of garbage, and each call has a signal. */
const DEADLINE = Symbol("deadline");

interface WithDeadline {
  [DEADLINE]?: number;
}

/**
 * Lets work that is handed a signal know when it will fire, so that it can answer with what it has before that. In
 * milliseconds since the epoch by a clock that all threads share and nobody sets back: `performance.timeOrigin +
 * performance.now()`.
 */
export const setDeadline = (signal: AbortSignal, deadlineMs: number): void => {
  (signal as WithDeadline)[DEADLINE] = deadlineMs;
};

/** Infinity where there is none. */
export const deadlineOf = (signal: AbortSignal | undefined): number =>
  (signal as WithDeadline | undefined)?.[DEADLINE] ?? Number.POSITIVE_INFINITY;
