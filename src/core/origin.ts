import type { Caller, LogLevel, Question } from "../tools/contract.ts";

/** Permission to run beside a limited number of other calls, which the door has taken for a request. */
export interface Slot {
  /** Does the work in it, for as long as the work lasts. Where it was given back it is taken again, unless the signal fires before. */
  hold<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Waits for the client, whose other calls may have the slot meanwhile. */
  leave<T>(wait: () => Promise<T>): Promise<T>;
}

/** Who sent a request, and how to report back. Every door provides one with each request. */
export interface Origin {
  readonly caller: Caller;
  readonly correlationId: string;
  /** The request as its transport numbers it: all rounds of one request have the same. */
  readonly requestId?: string | number | undefined;
  /** The endpoint or method that the request came by; left out: the transport says it all. */
  readonly route?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Left out, the door has taken none. */
  readonly slot?: Slot | undefined;
  /** A program of this caller makes the call: it runs in the slots that the program's own call holds. */
  readonly isNested?: boolean | undefined;
  /** What the caller may do by now: a program calls tools long after the request that started it. Left out, it never changes. */
  readonly mayNow?: (() => ReadonlySet<string>) | undefined;
  /**
   * Fires when the client gives the request up, also while its user is asked something. Left out where each round of it is a
   * request of its own, which nobody can give up once it was answered.
   */
  readonly requestSignal?: AbortSignal | undefined;
  /** W3C trace context of the caller, as received. */
  readonly traceparent?: string | undefined;
  readonly answers?: Readonly<Record<string, unknown>> | undefined;
  readonly state?: unknown;
  /** If omitted, the client cannot answer questions. */
  readonly canAsk?: ((kind: Question["kind"]) => boolean) | undefined;
  /** Whether a person can be asked for consent by a door that has no other questions. */
  readonly canConsent?: boolean | undefined;
  readonly progress?: ((done: number, total?: number, message?: string) => Promise<void>) | undefined;
  readonly log?: ((level: LogLevel, message: string) => Promise<void>) | undefined;
  readonly releaseStream?: (() => void) | undefined;
}
