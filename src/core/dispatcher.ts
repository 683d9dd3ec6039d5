import { type BoundedQueue, createBoundedQueue } from "../base/bounded-queue.ts";
import {
  type BreakerState,
  type CircuitBreaker,
  createCircuitBreaker,
  isBreakerRefusal,
} from "../base/circuit-breaker.ts";
import { LlmcError } from "../base/error.ts";
import { QuestionsAsked } from "../tools/contract.ts";
import type { Effect } from "../tools/tool.ts";
import type { Origin } from "./origin.ts";

export interface DispatchSettings {
  /** `mcp.max_concurrent_requests`. */
  readonly maxConcurrent: number;
  readonly maxQueued: number;
  /** `mcp.performance.circuit_breaker_threshold`. */
  readonly breakerThreshold: number;
}

interface DispatcherParts {
  readonly settings: () => DispatchSettings;
  readonly now: () => number;
  readonly onBreaker: (backend: string, state: BreakerState) => void;
}

/** Work as the dispatcher sees it; a tool is one. */
export interface Dispatched {
  readonly effect: Effect;
  /** What it depends on and what may fail by itself; left out, there is no circuit breaker. */
  readonly backend?: string | undefined;
  /** False: not tried again, although it only reads. */
  readonly isSafe?: boolean;
}

/**
 * The share of all slots that calls of one effect may take. Commands alone, or changes alone, leave half to the others: a
 * client whose commands pile up can still read. Reads may take all. Calls to other machines, which may hang, take a tenth.
 */
const SHARE: Readonly<Record<Effect, number>> = { read: 1, write: 0.5, execute: 0.5, egress: 0.1 };

const BY_SEVERITY: readonly BreakerState[] = ["closed", "half_open", "open"];

const worst = (one: BreakerState | undefined, other: BreakerState): BreakerState =>
  one === undefined || BY_SEVERITY.indexOf(other) > BY_SEVERITY.indexOf(one) ? other : one;

/** Bounds the breakers of principals that come and go. */
const MAX_BREAKERS = 1000;

/** Of reads that failed for a moment; anything else might be done twice. */
const MAX_RETRIES = 2;
const FIRST_DELAY_MS = 50;

/** Doubles with each retry; the random half keeps many callers from coming back at once. */
const delayMs = (retry: number): number => FIRST_DELAY_MS * 2 ** retry * (0.5 + Math.random() / 2);

const isWorthRetrying = (thrown: unknown): boolean =>
  thrown instanceof LlmcError &&
  thrown.code === "unavailable" &&
  thrown.retryable &&
  !isBreakerRefusal(thrown);

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });

export type Dispatcher = ReturnType<typeof createDispatcher>;

/** Decides when a call runs: slots by effect, circuit breakers by backend, a second try where that is safe. */
export const createDispatcher = ({ settings, now, onBreaker }: DispatcherParts) => {
  const queueFor = (effect: Effect): BoundedQueue =>
    createBoundedQueue(() => {
      const { maxConcurrent, maxQueued } = settings();
      return { maxRunning: Math.max(1, Math.floor(maxConcurrent * SHARE[effect])), maxWaiting: maxQueued };
    });
  const queues: Readonly<Record<Effect, BoundedQueue>> = {
    read: queueFor("read"),
    write: queueFor("write"),
    execute: queueFor("execute"),
    egress: queueFor("egress"),
  };
  /** By backend and principal: what one caller's files or requests break is not closed to the others. */
  const breakers = new Map<string, CircuitBreaker & { readonly backend: string }>();
  const breakerOf = (backend: string, principal: string): CircuitBreaker => {
    const key = JSON.stringify([backend, principal]);
    const known = breakers.get(key) ?? {
      backend,
      ...createCircuitBreaker({
        backend,
        threshold: () => settings().breakerThreshold,
        now,
        onState: (state) => onBreaker(backend, state),
        isNotFailure: (thrown) => thrown instanceof QuestionsAsked,
      }),
    };
    // The one that was used last is the last to be forgotten.
    breakers.delete(key);
    breakers.set(key, known);
    const [oldest] = breakers.keys();
    if (breakers.size > MAX_BREAKERS && oldest !== undefined) breakers.delete(oldest);
    return known;
  };
  const runOn = <T>(backend: string, principal: string, work: () => Promise<T>): Promise<T> =>
    breakerOf(backend, principal).run(work);
  const attempt = <T>({ backend }: Dispatched, principal: string, work: () => Promise<T>): Promise<T> =>
    backend === undefined ? work() : runOn(backend, principal, work);

  return {
    /** The slots that a call needs besides one of all. */
    slotsOf: (effect: Effect): BoundedQueue => queues[effect],
    /** Calls that wait for a slot of their effect. */
    waiting: (): number => Object.values(queues).reduce((sum, one) => sum + one.load().waiting, 0),
    /** A part of a call that depends on something else than the rest of it. */
    runOn,
    run: <T>(
      call: Dispatched,
      { signal, caller: { principal } }: Pick<Origin, "signal" | "caller">,
      work: () => Promise<T>,
    ): Promise<T> => {
      const tryAgain = async (thrown: unknown, retry: number): Promise<T> => {
        const mayRetry = retry < MAX_RETRIES && isWorthRetrying(thrown);
        if (!mayRetry || signal?.aborted === true) throw thrown;
        await pause(delayMs(retry), signal);
        return attempt(call, principal, work).catch((again: unknown) => tryAgain(again, retry + 1));
      };
      const first = attempt(call, principal, work);
      return call.effect === "read" && call.isSafe !== false
        ? first.catch((thrown: unknown) => tryAgain(thrown, 0))
        : first;
    },
    /** Backends that have been used, and the worst state among the breakers of everybody. */
    breakers: (): Readonly<Record<string, BreakerState>> => {
      const states: Record<string, BreakerState> = {};
      for (const { backend, state } of breakers.values()) states[backend] = worst(states[backend], state());
      return states;
    },
  };
};
