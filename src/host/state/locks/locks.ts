import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type BoundedQueue, createBoundedQueue, ONE_OF_EACH } from "../../../base/bounded-queue.ts";
import { LlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { shownPath } from "../../../policy/paths.ts";
import { createOwners, type Owners } from "../../os/process-owner.ts";
import type { Database } from "../database/database.ts";
import { type Claim, createLockTable, type LeaseRow, type LockTable } from "./table.ts";

// Another process has to poll for a lock, so one that always has the next caller ready would never leave it a gap. After
// holding a lock for this long in a row, it stays away for a little longer than the longest pause between two polls.
const SERIES_MS = 200;
const PAUSE_MS = 60;
const MAX_KEYS = 1000;

/** Gives other processes a chance at the locks they wait for. Times are of a monotonic clock. */
type Fairness = ReturnType<typeof createFairness>;

export const createFairness = () => {
  const series = new Map<string, { sinceMs: number; lastMs: number; pauseUntilMs: number }>();
  return {
    /** For how long this process has to stay away from these keys. */
    pauseMs: (keys: readonly string[], nowMs: number): number => {
      if (series.size === 0) return 0;
      let untilMs = nowMs;
      for (const key of keys) untilMs = Math.max(untilMs, series.get(key)?.pauseUntilMs ?? 0);
      return untilMs - nowMs;
    },
    /** A lock was released while another process waited for it. */
    released: (key: string, acquiredMs: number, nowMs: number): void => {
      const known = series.get(key);
      const isBroken = known === undefined || known.pauseUntilMs > 0 || acquiredMs - known.lastMs > SERIES_MS;
      const sinceMs = isBroken ? acquiredMs : known.sinceMs;
      if (series.size > MAX_KEYS) series.clear();
      const pauseUntilMs = nowMs - sinceMs >= SERIES_MS ? nowMs + PAUSE_MS : 0;
      series.set(key, { sinceMs, lastMs: nowMs, pauseUntilMs });
    },
  };
};

/** Who holds a lock now, for people to look at. */
export interface LockInfo {
  readonly key: string;
  readonly pid: number;
  readonly fence: number;
  readonly acquiredAt: Date;
  readonly expiresAt: Date;
  readonly isDead: boolean;
}

/** A set of held locks, valid until they expire or are taken over. */
export interface Lease {
  /** Grows with every acquisition of any lock on this machine: a later holder always has a higher one. */
  readonly fence: number;
  /**
   * Runs the last, irrevocable step (a rename, a link) while nobody can take the locks over; throws `busy` without
   * running it when they were lost meanwhile. The step is short and synchronous, and uses neither locks nor handles.
   */
  commit<T>(step: () => T): T;
}

/** Advisory locks across the processes of one user: servers that write the same file do so one after the other. */
export interface Locks {
  /**
   * Acquires all keys in sorted order, runs the work and releases them. Waits a bounded time, then throws `busy`. The
   * work must not hold the same key again: it would wait for itself.
   */
  hold<T>(keys: readonly string[], work: (lease: Lease) => Promise<T>, signal?: AbortSignal): Promise<T>;
  list(): readonly LockInfo[];
}

export interface LocksOptions {
  readonly database: Database;
  /** Real path; errors name keys relative to it. */
  readonly workspace: string;
  readonly settings: () => { readonly waitMs: number; readonly leaseMs: number };
  /** Milliseconds since the epoch: leases are compared between processes. */
  readonly now: () => number;
  readonly pid: number;
}

const FIRST_PAUSE_MS = 2;
const MAX_PAUSE_MS = 50;

interface State extends LocksOptions {
  readonly owners: Owners;
  readonly table: LockTable;
  readonly fairness: Fairness;
  /** Callers of this process that want the same key. */
  readonly queue: BoundedQueue;
}

const busy = ({ workspace }: State, key: string, why: string): LlmcError => {
  const path = shownPath(key, workspace);
  return new LlmcError("busy", `${quoteForMessage(path)} ${why}`, {
    hint: "Try again in a moment. The operator decides in mcp.locks.wait_seconds how long a write waits.",
    details: { path },
  });
};

const enter = async (
  state: State,
  key: string,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const { queue } = state;
  if (queue.tryEnter(key)) return;
  const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(deadlineMs - performance.now())));
  try {
    await queue.wait(signal === undefined ? timeout : AbortSignal.any([signal, timeout]), key);
  } catch {
    stopIfAborted(signal);
    throw busy(state, key, "is locked by another call.");
  }
};

const pause = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  try {
    await sleep(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    stopIfAborted(signal);
    throw error;
  }
};

/** A busy database is treated like a lease held by somebody else: it is retried until the timeout. */
const tryTake = (
  { table }: State,
  claim: Claim,
): { readonly fence: number } | { readonly blocker: LeaseRow | undefined } => {
  try {
    return table.take(claim);
  } catch (error) {
    if (error instanceof LlmcError && error.code === "busy") return { blocker: undefined };
    throw error;
  }
};

const take = async (
  state: State,
  claim: Claim,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<number> => {
  const stayAwayMs = state.fairness.pauseMs(claim.keys, performance.now());
  if (stayAwayMs > 0) await pause(stayAwayMs, signal);
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 1.5)) {
    const answer = tryTake(state, claim);
    if ("fence" in answer) return answer.fence;
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) {
      const { key = claim.keys[0] ?? "", pid: other } = answer.blocker ?? {};
      throw busy(state, key, `is locked by another process${other === undefined ? "" : ` (${other})`}.`);
    }
    // Uneven pauses: two processes must not poll in step.
    await pause(Math.min(leftMs, pauseMs * (0.75 + Math.random() / 4)), signal);
  }
};

const release = ({ table, fairness }: State, claim: Claim, acquiredMs: number): void => {
  try {
    const nowMs = performance.now();
    for (const key of table.release(claim)) fairness.released(key, acquiredMs, nowMs);
  } catch {
    // The work is done, and its outcome counts. The lease runs out by itself, or with this process.
  }
};

const commitUnder = <R>(state: State, claim: Claim, step: () => R): R => {
  const done = state.table.commit(claim, step);
  if (done !== undefined) return done.value;
  throw busy(
    state,
    claim.keys[0] ?? "",
    "was locked by another process when this call was held up; nothing was written.",
  );
};

const holdAll = async <T>(
  state: State,
  claim: Claim,
  fence: number,
  work: (lease: Lease) => Promise<T>,
): Promise<T> => {
  const acquiredMs = performance.now();
  const renew = (): void => {
    try {
      state.table.renew(claim);
    } catch {
      // The renewal is retried before the lease expires; if the lease is lost anyway, `commit` notices it.
    }
  };
  const timer = setInterval(renew, claim.leaseMs / 3).unref();
  try {
    return await work({ fence, commit: (step) => commitUnder(state, claim, step) });
  } finally {
    clearInterval(timer);
    release(state, claim, acquiredMs);
  }
};

const hold = async <T>(
  state: State,
  keys: readonly string[],
  work: (lease: Lease) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> => {
  stopIfAborted(signal);
  const { waitMs, leaseMs } = state.settings();
  const deadlineMs = performance.now() + waitMs;
  const claim: Claim = { keys: [...new Set(keys)].sort(), holder: randomUUID(), leaseMs };
  const entered: string[] = [];
  try {
    for (const key of claim.keys) {
      await enter(state, key, deadlineMs, signal);
      entered.push(key);
    }
    return await holdAll(state, claim, await take(state, claim, deadlineMs, signal), work);
  } finally {
    for (const key of entered) state.queue.release(key);
  }
};

export const createLocks = (options: LocksOptions): Locks => {
  const owners = createOwners(options.pid);
  const table = createLockTable(options.database, owners, options.now);
  const state: State = {
    ...options,
    owners,
    table,
    fairness: createFairness(),
    queue: createBoundedQueue(() => ONE_OF_EACH),
  };
  return {
    hold: (keys, work, signal) => hold(state, keys, work, signal),
    list: () =>
      options.database.exists()
        ? table.rows().map((row) => ({
            key: row.key,
            pid: row.pid,
            fence: row.fence,
            acquiredAt: new Date(row.acquired),
            expiresAt: new Date(row.expires),
            isDead: owners.isGone(row),
          }))
        : [],
  };
};
