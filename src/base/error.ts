import { ERROR_TABLE, type ErrorCode, type ErrorFamily, publishedCode } from "./error-table.ts";

interface ErrorExtras {
  /** What the reader can do about it, in one sentence. Reaches the model, like the message. */
  readonly hint?: string;
  /** The field, limit or position concerned. Reaches the model; never holds content or secrets. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  /** Overrides the table. */
  readonly retryable?: boolean;
  /** Reaches the log only. */
  readonly cause?: unknown;
  /** What the operator could allow to lift a refusal, as `llmc allow` takes it; left out where nobody may. */
  readonly needs?: readonly string[] | undefined;
}

/** A sentence with this key offers a tool that the mode does not list. */
export const PROMOTED_TOOLS = "mcp.hybrid.promoted_tools";

/** How a hint begins that lists programs; some of them have the name of a tool. */
export const ALLOWED_PROGRAMS = "Allowed programs:";

/** The one error of this program. Everything else that is thrown becomes an `internal_error` without detail. */
export class LlmcError extends Error {
  override readonly name = "LlmcError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, string | number | boolean>>;
  readonly retryable: boolean;
  readonly needs: readonly string[] | undefined;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.code = code;
    this.hint = extras.hint;
    this.details = extras.details ?? {};
    this.retryable = extras.retryable ?? ERROR_TABLE[code].retryable;
    this.needs = extras.needs;
  }
}

/** The same error with a further hint, if there is one. */
export const withHint = (error: LlmcError, more: string | undefined): LlmcError =>
  more === undefined
    ? error
    : new LlmcError(error.code, error.message, {
        hint: error.hint === undefined ? `${more}.` : `${error.hint} ${more}.`,
        details: error.details,
        retryable: error.retryable,
        cause: error.cause,
        needs: error.needs,
      });

/** The same error under another code; whether another try is worth it stays as it is. */
export const withCode = (error: LlmcError, code: ErrorCode): LlmcError =>
  code === error.code
    ? error
    : new LlmcError(code, error.message, {
        ...(error.hint === undefined ? {} : { hint: error.hint }),
        details: error.details,
        retryable: error.retryable,
        cause: error.cause,
        needs: error.needs,
      });

/** Out of descriptors or memory: temporary, and not the caller's fault. */
const EXHAUSTED = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

const systemCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;

/** The error for a system's code that says that something has run out; undefined for any other code. */
export const exhausted = (code: string | undefined, cause: unknown): LlmcError | undefined =>
  code !== undefined && EXHAUSTED.has(code)
    ? new LlmcError("busy", `The machine has run out of a resource (${code}).`, {
        hint: "Try again in a moment.",
        cause,
      })
    : undefined;

export const toLlmcError = (thrown: unknown): LlmcError => {
  if (thrown instanceof LlmcError) return thrown;
  const code = systemCode(thrown);
  const busy = exhausted(code, thrown);
  if (busy !== undefined) return busy;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new LlmcError("unavailable", "No space is left on the disk.", {
      hint: "Free some space and try again.",
      cause: thrown,
    });
  }
  if (code === "EROFS") {
    return new LlmcError("permission_denied", "The disk is read-only.", { cause: thrown });
  }
  return new LlmcError("internal_error", "An unexpected error occurred.", {
    hint: "The server's log has the details under the correlation id.",
    cause: thrown,
  });
};

/** For MCP tool results and everything else that a model reads. */
export const renderForModel = (error: LlmcError, family: ErrorFamily, correlationId: string) => ({
  error: error.hint === undefined ? error.message : `${error.message} ${error.hint}`,
  meta: {
    error_code: publishedCode(error.code, family),
    retryable: error.retryable,
    ...error.details,
    correlation_id: correlationId,
  },
});

/** For HTTP endpoints. */
export const renderForHttp = (error: LlmcError, correlationId: string) => ({
  code: ERROR_TABLE[error.code].http,
  message: error.message,
  ...(error.hint === undefined ? {} : { hint: error.hint }),
  correlation_id: correlationId,
});

/** For `/invoke`, over HTTP and over the Unix socket. */
export const renderForInvoke = (error: LlmcError, requestId: string, timestamp: string) => ({
  error: {
    code: ERROR_TABLE[error.code].kb,
    message: error.message,
    details: {
      ...error.details,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      retryable: error.retryable,
    },
    request_id: requestId,
    timestamp,
  },
});
