import { LlmcError } from "../base/error.ts";

/** A signal that fires at the deadline or when the caller gives up, whichever is first, and forgets both when done. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** The work's own result, or the reason of the signal: a tool that ignores its signal holds nobody up. */
  race<T>(work: Promise<T>): Promise<T>;
  end(): void;
}

interface Entry {
  readonly expiresAt: number;
  fire(): void;
}

/**
 * One timer for all deadlines: starting and stopping one per call would cost more than a short call itself. It is kept
 * running between calls, without keeping the process alive.
 */
const createAlarm = () => {
  const entries = new Set<Entry>();
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
    for (const entry of entries) {
      if (entry.expiresAt <= now) {
        entries.delete(entry);
        entry.fire();
      } else next = Math.min(next, entry.expiresAt);
    }
    if (next < Number.POSITIVE_INFINITY) arm(next);
  };

  return {
    add: (entry: Entry): void => {
      if (entries.size === 0) timer?.ref();
      entries.add(entry);
      if (entry.expiresAt < ringsAt) arm(entry.expiresAt);
    },
    remove: (entry: Entry): void => {
      if (entries.delete(entry) && entries.size === 0) timer?.unref();
    },
  };
};

const alarm = createAlarm();

const passed = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `The call passed its deadline of ${timeoutMs / 1000} s.`, {
    hint: "Ask for less, or raise mcp.request_timeout_seconds.",
  });

export const startDeadline = (timeoutMs: number, caller: AbortSignal | undefined): Deadline => {
  // Few tools look at their signal: the controller is made for those that do.
  let controller: AbortController | undefined;
  let reason: LlmcError | undefined;
  let stopRace: ((reason: LlmcError) => void) | undefined;

  const stop = (why: LlmcError): void => {
    if (reason !== undefined) return;
    reason = why;
    controller?.abort(why);
    stopRace?.(why);
  };
  const giveUp = () => stop(new LlmcError("cancelled", "The call was cancelled."));
  const entry: Entry = { expiresAt: performance.now() + timeoutMs, fire: () => stop(passed(timeoutMs)) };

  alarm.add(entry);
  if (caller?.aborted) giveUp();
  else caller?.addEventListener("abort", giveUp, { once: true });

  return {
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (reason !== undefined) controller.abort(reason);
      }
      return controller.signal;
    },
    race: (work) =>
      new Promise((resolve, reject) => {
        if (reason !== undefined) reject(reason);
        stopRace = reject;
        work.then(resolve, reject);
      }),
    end: () => {
      alarm.remove(entry);
      caller?.removeEventListener("abort", giveUp);
      stopRace = undefined;
    },
  };
};
