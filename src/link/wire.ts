import { LlmcError } from "../base/error.ts";
import { ERROR_TABLE, type ErrorCode } from "../base/error-table.ts";
import { isRecord } from "../base/is-record.ts";

/** How failures travel over the link. The cause stays where it happened. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly details: LlmcError["details"];
  readonly retryable: boolean;
}

export const toWireError = ({ code, message, hint, details, retryable }: LlmcError): WireError => ({
  code,
  message,
  hint,
  details,
  retryable,
});

export const fromWireError = ({ code, message, hint, details, retryable }: WireError): LlmcError =>
  new LlmcError(Object.hasOwn(ERROR_TABLE, code) ? code : "internal_error", message, {
    ...(hint === undefined ? {} : { hint }),
    details,
    retryable,
  });

/** One line of the answer to a request: any number of the first two, then one of the others. */
export type WireLine =
  | { readonly progress: readonly [done: number, total: number | null, message: string | null] }
  | { readonly log: readonly [level: string, message: string] }
  | { readonly value: unknown }
  | { readonly questions: Readonly<Record<string, unknown>>; readonly state: string | null }
  | { readonly error: WireError };

export const isLast = (line: WireLine): boolean => !("progress" in line || "log" in line);

/** What the core says when a front greets it. */
export interface CoreGreeting {
  /** The newest version of the link that it speaks. */
  readonly schema: string;
  /** How many connections a front may use for requests. */
  readonly connections: number;
}

/** One line of the event stream. */
export type WireEvent =
  | { readonly seq: number; readonly list: "tools" | "prompts" | "resources" }
  | { readonly seq: number; readonly resource: string }
  /** Nothing is known about what happened since the event that the front named. */
  | { readonly seq: number; readonly reset: true }
  | { readonly snapshot: unknown };

/** Splits a stream of JSON lines. Only trusted peers are read in this way: the front reads the core. */
export const createJsonLines = <T>(onLine: (line: T) => void) => {
  let rest = "";
  return (text: string): void => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") continue;
      const value: unknown = JSON.parse(line);
      if (isRecord(value)) onLine(value as T);
    }
  };
};
