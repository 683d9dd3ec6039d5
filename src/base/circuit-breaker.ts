import { LlmcError } from "./error.ts";

export type BreakerState = "closed" | "open" | "half_open";

interface BreakerOptions {
  /** Named in the refusal. */
  readonly backend: string;
  /** Failures within the window that open the breaker; read each time, because the configuration can change. */
  readonly threshold: () => number;
  /** Milliseconds that only move forward. */
  readonly now: () => number;
  readonly onState?: (state: BreakerState) => void;
  /** Whether something that was thrown says nothing about the backend, as mistakes of callers do, whose codes are known. */
  readonly isNotFailure?: (thrown: unknown) => boolean;
}

/** Failures that are older say nothing about now. */
const WINDOW_MS = 60_000;

/** A backend that is well again is found at most this much later, by one probe. */
const PROBE_AFTER_MS = 2_000;

/** Failures of the backend itself; anything else is the caller's mistake, or a refusal. */
const FAILURES: ReadonlySet<string> = new Set(["unavailable", "internal_error", "timeout"]);

/** Failures that a breaker has counted: those around it are not about them. */
const counted = new WeakSet<object>();

/**
 * What names a field, or a file of the workspace, is about that, and not about the backend. A provider that refuses the
 * request is well: only what it would do another time is a failure of its own.
 */
const isFailure = (thrown: unknown): boolean => {
  if (typeof thrown === "object" && thrown !== null && counted.has(thrown)) return false;
  if (!(thrown instanceof LlmcError)) return true;
  if (isBreakerRefusal(thrown)) return false;
  if (thrown.code === "provider_error") return thrown.retryable;
  return FAILURES.has(thrown.code) && thrown.details["field"] === undefined;
};

/** Whether an error is the refusal of an open breaker: trying again at once would be refused again. */
export const isBreakerRefusal = (thrown: unknown): boolean =>
  thrown instanceof LlmcError && thrown.details["circuit"] === "open";

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/**
 * Keeps callers from waiting for a backend that keeps failing. After enough failures, work is refused at once; every two
 * seconds one piece of work is let through as a probe, whether or not the last one has ended, and when one succeeds everything
 * is as before. Nothing else closes it: work that began earlier says how the backend was, and a caller's mistake says nothing.
 */
export const createCircuitBreaker = ({ backend, threshold, now, onState, isNotFailure }: BreakerOptions) => {
  let failures: readonly number[] = [];
  let state: BreakerState = "closed";
  /** When it opened, or the last probe began or failed. */
  let triedAt = 0;

  const enter = (next: BreakerState): void => {
    if (next === state) return;
    state = next;
    onState?.(next);
  };
  const refuse = (): LlmcError =>
    new LlmcError("unavailable", `${backend} has failed ${threshold()} times within a minute.`, {
      hint: "It is tried again every two seconds; try again in a moment.",
      details: { circuit: "open" },
      retryable: true,
    });
  const fail = (isProbe: boolean): void => {
    const at = now();
    failures = [...failures.filter((time) => time > at - WINDOW_MS), at];
    const isOver = state === "closed" && failures.length >= threshold();
    if (!isOver && !(isProbe && state === "half_open")) return;
    triedAt = at;
    enter("open");
  };
  const succeed = (): void => {
    failures = [];
    enter("closed");
  };
  /** The next one is a probe at once. */
  const proveNothing = (): void => {
    triedAt = Number.NEGATIVE_INFINITY;
    if (state === "half_open") enter("open");
  };

  return {
    state: (): BreakerState => state,
    run: async <T>(work: () => Promise<T>): Promise<T> => {
      const isProbe = state !== "closed";
      if (isProbe && now() - triedAt < PROBE_AFTER_MS) throw refuse();
      if (isProbe) {
        triedAt = now();
        enter("half_open");
      }
      try {
        const result = await work();
        if (isProbe) succeed();
        return result;
      } catch (thrown) {
        if (isNotFailure?.(thrown) !== true && isFailure(thrown)) {
          fail(isProbe);
          if (typeof thrown === "object" && thrown !== null) counted.add(thrown);
        } else if (isProbe) proveNothing();
        throw thrown;
      }
    },
  };
};
