/** Deadlines of signals, in milliseconds since the epoch by a clock that all threads share and nobody sets back. */
const deadlines = new WeakMap<AbortSignal, number>();

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Lets work that is handed a signal know when it will fire, so that it can answer with what it has before that. */
export const setMsLeft = (signal: AbortSignal, ms: number): void => void deadlines.set(signal, nowMs() + ms);

/** Infinity where there is no deadline. */
export const msLeft = (signal: AbortSignal | undefined): number => {
  const deadline = signal === undefined ? undefined : deadlines.get(signal);
  return deadline === undefined ? Number.POSITIVE_INFINITY : Math.max(0, deadline - nowMs());
};
