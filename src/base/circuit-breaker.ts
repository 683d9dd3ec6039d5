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
}

/** Failures that are older say nothing about now. */
const WINDOW_MS = 60_000;

/** A backend that is well again is found at most this much later, by one probe. */
const PROBE_AFTER_MS = 2_000;

/** Failures of the backend itself; anything else is the caller's mistake, or a refusal. */
const FAILURES: ReadonlySet<string> = new Set(["unavailable", "internal_error", "timeout"]);

/** What names a field, or a file of the workspace, is about that, and not about the backend. */
const isFailure = (thrown: unknown): boolean =>
  !(thrown instanceof LlmcError) || (FAILURES.has(thrown.code) && thrown.details["field"] === undefined);

/** Neither a success nor a failure: the caller went away before the backend could show either. */
const isUndecided = (thrown: unknown): boolean => thrown instanceof LlmcError && thrown.code === "cancelled";

/** Whether an error is the refusal of an open breaker: trying again at once would be refused again. */
export const isBreakerRefusal = (thrown: unknown): boolean =>
  thrown instanceof LlmcError && thrown.details["circuit"] === "open";

export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/**
 * Keeps callers from waiting for a backend that keeps failing. After enough failures, work is refused at once; from time to
 * time one piece of work is let through as a probe, and when it succeeds everything is as before.
 */
export const createCircuitBreaker = ({ backend, threshold, now, onState }: BreakerOptions) => {
  let failures: readonly number[] = [];
  let state: BreakerState = "closed";
  let openedAt = 0;

  const enter = (next: BreakerState): void => {
    if (next === state) return;
    state = next;
    onState?.(next);
  };
  const refuse = (): LlmcError =>
    new LlmcError("unavailable", `${backend} has failed ${threshold()} times within a minute.`, {
      hint: "It is tried again every two seconds; try again in a moment.",
      details: { circuit: "open" },
    });
  const fail = (): void => {
    const at = now();
    failures = [...failures.filter((time) => time > at - WINDOW_MS), at];
    if (state === "closed" && failures.length < threshold()) return;
    openedAt = at;
    enter("open");
  };
  const succeed = (): void => {
    if (state === "closed") return;
    failures = [];
    enter("closed");
  };

  return {
    state: (): BreakerState => state,
    run: async <T>(work: () => Promise<T>): Promise<T> => {
      const isDue = state === "open" && now() - openedAt >= PROBE_AFTER_MS;
      if (state === "half_open" || (state === "open" && !isDue)) throw refuse();
      if (isDue) enter("half_open");
      try {
        const result = await work();
        succeed();
        return result;
      } catch (thrown) {
        if (isFailure(thrown)) fail();
        else if (!isUndecided(thrown)) succeed();
        else if (isDue) enter("open");
        throw thrown;
      }
    },
  };
};
