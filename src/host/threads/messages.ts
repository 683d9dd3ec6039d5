import { LlmcError } from "../../base/error.ts";
import { ERROR_TABLE, type ErrorCode } from "../../base/error-table.ts";

/** What a thread can be asked: by name, what it takes, what it gives, and what it emits while it works. All plain data. */
export type ThreadMethods = Readonly<
  Record<string, { readonly takes: unknown; readonly gives: unknown; readonly emits: unknown }>
>;

export type ToThread =
  | { readonly type: "call"; readonly id: number; readonly method: string; readonly params: unknown }
  | { readonly type: "cancel"; readonly id: number }
  | { readonly type: "close" };

export type FromThread =
  | { readonly type: "done"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly error: SentError }
  | { readonly type: "event"; readonly id: number; readonly event: unknown }
  | { readonly type: "closed" };

/** An error as plain data: classes do not survive the way between threads. */
export interface SentError {
  readonly code: string | undefined;
  readonly message: string;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly retryable: boolean;
  readonly cause: string | undefined;
}

const causeOf = (error: unknown): string | undefined =>
  error instanceof Error ? (error.stack ?? error.message) : undefined;

export const sendError = (error: unknown): SentError => {
  if (error instanceof LlmcError) {
    const { code, message, hint, details, retryable } = error;
    return { code, message, hint, details, retryable, cause: causeOf(error.cause) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: undefined,
    message,
    hint: undefined,
    details: {},
    retryable: false,
    cause: causeOf(error),
  };
};

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_TABLE, code);

export const receiveError = ({ code, message, hint, details, retryable, cause }: SentError): Error => {
  if (code === undefined || !isCode(code)) return new Error(message, { cause });
  return new LlmcError(code, message, {
    details,
    retryable,
    ...(hint === undefined ? {} : { hint }),
    ...(cause === undefined ? {} : { cause }),
  });
};
