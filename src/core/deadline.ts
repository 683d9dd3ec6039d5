import { Chain, ChainLink } from "../base/chain.ts";
import { LlmcError } from "../base/error.ts";

/** Tells that a caller has given up. An AbortSignal is one; a door may use something that costs less to create. */
export interface CancelSignal {
  readonly aborted: boolean;
  /** If this is an LlmcError, it explains why the call was cancelled. */
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: CancelListener): void;
  removeEventListener(type: "abort", listener: CancelListener): void;
}

export interface CancelListener {
  handleEvent(): void;
}

/** A signal that fires at the deadline or when the caller gives up, whichever is first, and forgets both when done. */
export interface Deadline {
  readonly signal: AbortSignal;
  /**
   * The work's own result, or the reason of the signal: a tool that ignores its signal holds nobody up. A custom module
   * in plain JavaScript may well have its result at once.
   */
  race<T>(work: T | Promise<T>): Promise<T>;
  end(): void;
}

/**
 * One timer for all deadlines: starting and stopping one per call would cost more than a short call itself. It is kept
 * running between calls, without keeping the process alive.
 */
const createAlarm = () => {
  const entries = new Chain<CallDeadline>();
  let timer: NodeJS.Timeout | undefined;
  let ringsAt = Number.POSITIVE_INFINITY;

  const arm = (at: number): void => {
    clearTimeout(timer);
    ringsAt = at;
    timer = setTimeout(ring, Math.max(0, at - performance.now()));
  };

  const ring = (): void => {
    const now = performance.now();
    timer = undefined;
    ringsAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const entry of entries.members()) {
      if (entry.expiresAt <= now) {
        // A deadline that has already ended needs no action.
        if (entries.remove(entry)) entry.fire();
      } else next = Math.min(next, entry.expiresAt);
    }
    if (next < ringsAt) arm(next);
  };

  return {
    add: (entry: CallDeadline): void => {
      if (entries.size === 0) timer?.ref();
      entries.add(entry);
      if (entry.expiresAt < ringsAt) arm(entry.expiresAt);
    },
    remove: (entry: CallDeadline): void => {
      if (entries.remove(entry) && entries.size === 0) timer?.unref();
    },
  };
};

const alarm = createAlarm();

const passed = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `The call passed its deadline of ${timeoutMs / 1000} s.`, {
    hint: "Ask for less, or raise mcp.request_timeout_seconds.",
  });

/** A class, because an accessor in an object literal is defined anew for each call, which takes longer than all the rest. */
class CallDeadline extends ChainLink implements Deadline, CancelListener {
  readonly expiresAt: number;
  readonly #timeoutMs: number;
  readonly #caller: CancelSignal | undefined;
  /** Few tools use their signal, so it is created on first use. */
  #controller: AbortController | undefined;
  #reason: LlmcError | undefined;
  #stopRace: ((reason: LlmcError) => void) | undefined;

  constructor(timeoutMs: number, caller: CancelSignal | undefined) {
    super();
    this.#timeoutMs = timeoutMs;
    this.#caller = caller;
    this.expiresAt = performance.now() + timeoutMs;
    alarm.add(this);
    if (caller?.aborted) this.handleEvent();
    else caller?.addEventListener("abort", this);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  race<T>(work: T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#reason !== undefined) reject(this.#reason);
      this.#stopRace = reject;
      Promise.resolve(work).then(resolve, reject);
    });
  }

  end(): void {
    alarm.remove(this);
    this.#caller?.removeEventListener("abort", this);
    this.#stopRace = undefined;
  }

  /** The deadline has passed. */
  fire(): void {
    this.#stop(passed(this.#timeoutMs));
  }

  /** The caller has given up, or its door has. */
  handleEvent(): void {
    const reason = this.#caller?.reason;
    this.#stop(reason instanceof LlmcError ? reason : new LlmcError("cancelled", "The call was cancelled."));
  }

  #stop(why: LlmcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = why;
    this.#controller?.abort(why);
    this.#stopRace?.(why);
  }
}

export const startDeadline = (timeoutMs: number, caller: CancelSignal | undefined): Deadline =>
  new CallDeadline(timeoutMs, caller);
