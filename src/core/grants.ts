import type { Decided } from "./call-log.ts";

/** What users agreed to or declined, by the owner of the call: the token over HTTP, otherwise the connection. */
export interface Grants {
  has(owner: string, key: string): boolean;
  /** Whether the user said that they do not want to be asked about this again. */
  isRefused(owner: string, key: string): boolean;
  record(owner: string, key: string, answer: "session" | "never"): void;
  /** Refusals outlive a core that crashed: who is reported of each, and how they come back. What was granted does not. */
  readonly refused: RefusedByUsers;
  /**
   * Whoever answered for this owner may not have been the user: what was granted is asked about again. What nobody has
   * answered yet stays a question, because the same one is put to the user again.
   */
  forgetGranted(owner: string): void;
  /** Whether one more question may be asked now; counts it if so. */
  mayAsk(owner: string, perMinute: number): boolean;
  /** Keeps what a call was granted while its user is asked for more; the ticket travels with the question. */
  suspend(call: SuspendedCall): string;
  /** Takes back what belongs to a ticket, once, and only for the same call of the same owner. */
  resume(ticket: unknown, owner: string, call: string): SuspendedCall | undefined;
}

export interface RefusedByUsers {
  onRefused(listener: (owner: string, key: string) => void): void;
  restore(owner: string, keys: readonly string[]): void;
}

interface SuspendedCall {
  readonly owner: string;
  /** Tool and arguments, as a digest. */
  readonly call: string;
  /** What was granted to this call alone so far. */
  readonly granted: readonly string[];
  /** What the user is being asked about; left out where the tool itself asks, or a program of it. */
  readonly question?: {
    readonly asked: string;
    /** What they refuse if they never want to be asked again. */
    readonly never: string;
    /** As the record of their answer says it. */
    readonly decided: Decided;
  };
  /** What the tool left with its own question. */
  readonly toolState?: unknown;
}

/** Bounds for clients that connect, ask and never come back. */
const MAX_OWNERS = 1000;
const MAX_KEYS = 200;
const MAX_SUSPENDED = 1000;

const MINUTE_MS = 60_000;

interface Answers {
  readonly session: Set<string>;
  readonly never: Set<string>;
  asked: readonly number[];
}

const addBounded = (keys: Set<string>, key: string): void => {
  const [oldest] = keys;
  if (keys.size >= MAX_KEYS && oldest !== undefined) keys.delete(oldest);
  keys.add(key);
};

/** In memory: what a user agreed to ends with the server at the latest. */
export const createGrants = (now: () => number, newId: () => string): Grants => {
  const byOwner = new Map<string, Answers>();
  let reported: (owner: string, key: string) => void = () => {};
  const suspended = new Map<string, SuspendedCall>();

  const answersOf = (owner: string): Answers => {
    const known = byOwner.get(owner) ?? { session: new Set(), never: new Set(), asked: [] };
    // The one that was asked last is the last to be forgotten.
    byOwner.delete(owner);
    byOwner.set(owner, known);
    const [oldest] = byOwner.keys();
    if (byOwner.size > MAX_OWNERS && oldest !== undefined) byOwner.delete(oldest);
    return known;
  };

  return {
    has: (owner, key) => byOwner.get(owner)?.session.has(key) === true,
    isRefused: (owner, key) => byOwner.get(owner)?.never.has(key) === true,
    record: (owner, key, answer) => {
      addBounded(answersOf(owner)[answer], key);
      if (answer === "never") reported(owner, key);
    },
    refused: {
      onRefused: (listener) => {
        reported = listener;
      },
      restore: (owner, keys) => {
        for (const key of keys) addBounded(answersOf(owner).never, key);
      },
    },
    forgetGranted: (owner) => {
      byOwner.get(owner)?.session.clear();
      for (const [ticket, call] of suspended)
        if (call.owner === owner) suspended.set(ticket, { ...call, granted: [] });
    },
    mayAsk: (owner, perMinute) => {
      const answers = answersOf(owner);
      const since = now() - MINUTE_MS;
      const recent = answers.asked.filter((at) => at > since);
      const isAllowed = recent.length < perMinute;
      answers.asked = isAllowed ? [...recent, now()] : recent;
      return isAllowed;
    },
    suspend: (call) => {
      const ticket = newId();
      const [oldest] = suspended.keys();
      if (suspended.size >= MAX_SUSPENDED && oldest !== undefined) suspended.delete(oldest);
      suspended.set(ticket, call);
      return ticket;
    },
    resume: (ticket, owner, call) => {
      const kept = typeof ticket === "string" ? suspended.get(ticket) : undefined;
      if (kept === undefined || kept.owner !== owner || kept.call !== call) return undefined;
      suspended.delete(ticket as string);
      return kept;
    },
  };
};
