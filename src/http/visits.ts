import { Chain, ChainLink } from "../base/chain.ts";
import { LlmcError } from "../base/error.ts";
import type { CancelListener, CancelSignal } from "../core/deadline.ts";
import { tokenLost } from "./standing.ts";
import type { Identity } from "./tokens.ts";

/**
 * One request or message that is being worked on, from its arrival until its answer is out or its client gone. It is
 * the signal of that itself: an AbortSignal takes longer to make than many calls take.
 */
export interface Visit extends CancelSignal {
  /** Who was let in, as soon as that is known. */
  identity: Identity | undefined;
  /** The same as a real signal, made for whoever needs one. */
  readonly signal: AbortSignal;
  /** It has ended: `clientGone` before its answer was whole. */
  end(clientGone: boolean): void;
}

class OpenVisit extends ChainLink implements Visit {
  aborted = false;
  identity: Identity | undefined;
  reason: LlmcError | undefined;
  readonly #leave: (visit: OpenVisit) => boolean;
  #controller: AbortController | undefined;
  #listeners: CancelListener[] | undefined;

  /** `leave` says whether the visit was still under way. */
  constructor(leave: (visit: OpenVisit) => boolean) {
    super();
    this.#leave = leave;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  addEventListener(_type: "abort", listener: CancelListener): void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: CancelListener): void {
    this.#listeners = this.#listeners?.filter((other) => other !== listener);
  }

  end(clientGone: boolean): void {
    if (this.#leave(this) && clientGone) this.abort();
  }

  abort(reason?: LlmcError): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners ?? []) listener.handleEvent();
  }
}

const STOPPING_RETRY_MS = 5000;

/** What a call hears that comes too late, or that the server does not wait for. */
export const serverStops = (): LlmcError =>
  new LlmcError("busy", "The server is stopping.", {
    hint: "Try again in a moment: another may take its place.",
    details: { retry_after_ms: STOPPING_RETRY_MS },
  });

/** All that is under way, so that a stop can wait for it. */
export const createVisits = () => {
  const open = new Chain<OpenVisit>();
  const waiting = new Set<() => void>();
  let draining = false;

  const settle = (): void => {
    if (open.size > 0 || waiting.size === 0) return;
    for (const wake of waiting) wake();
    waiting.clear();
  };

  const leave = (visit: OpenVisit): boolean => {
    if (!open.remove(visit)) return false;
    settle();
    return true;
  };

  return {
    begin: (): Visit => {
      const visit = new OpenVisit(leave);
      open.add(visit);
      return visit;
    },
    count: () => open.size,
    isDraining: () => draining,
    /** From now on nothing new is let in. */
    startDraining: (): void => {
      draining = true;
    },
    /** Resolves when nothing is under way any more. */
    idle: (): Promise<void> =>
      new Promise((resolve) => {
        waiting.add(resolve);
        settle();
      }),
    /** Ends what is under way for those who have lost their token, or a scope of it. */
    abortWhere: (isLost: (identity: Identity) => boolean): void => {
      for (const visit of open.members())
        if (visit.identity !== undefined && isLost(visit.identity)) visit.abort(tokenLost());
    },
    /** Ends what is still under way, because the server does. */
    abort: (): void => {
      for (const visit of open.members()) visit.abort(serverStops());
    },
  };
};

export type Visits = ReturnType<typeof createVisits>;
