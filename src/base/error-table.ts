/**
 * Every error this program can report, once. The key is the internal code; tools that belong to no other family
 * show it as it is. `linux`, `kb` and `http` are the names the other families publish for the same thing.
 * `exit` is the command line's exit code. docs/reference/errors.md is generated from this table.
 */
interface ErrorRow {
  readonly linux: string;
  readonly kb: string;
  readonly http: string;
  readonly status: number;
  readonly exit: number;
  readonly retryable: boolean;
  readonly meaning: string;
}

const row = (
  linux: string,
  kb: string,
  http: string,
  status: number,
  exit: number,
  retryable: boolean,
  meaning: string,
): ErrorRow => ({ linux, kb, http, status, exit, retryable, meaning });

export const ERROR_TABLE = {
  invalid_args: row(
    "INVALID_ARGS",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    422,
    2,
    false,
    "An argument is missing, unknown, of the wrong type or out of bounds.",
  ),
  unknown_tool: row(
    "NOT_FOUND",
    "RESOURCE_NOT_FOUND",
    "NOT_FOUND",
    404,
    2,
    false,
    "No tool of that name is offered in this mode.",
  ),
  config_invalid: row(
    "INVALID_ARGS",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    422,
    3,
    false,
    "The configuration has an unknown key, a wrong type or a bad value.",
  ),
  path_denied: row(
    "INVALID_PATH",
    "PERMISSION_DENIED",
    "FORBIDDEN",
    403,
    4,
    false,
    "The path is outside the allowed roots, on the denylist, or not a regular file or directory.",
  ),
  forbidden: row(
    "PERMISSION_DENIED",
    "PERMISSION_DENIED",
    "FORBIDDEN",
    403,
    4,
    false,
    "Policy does not allow this call.",
  ),
  permission_denied: row(
    "PERMISSION_DENIED",
    "PERMISSION_DENIED",
    "FORBIDDEN",
    403,
    4,
    false,
    "The operating system does not allow this access.",
  ),
  auth_failed: row(
    "PERMISSION_DENIED",
    "PERMISSION_DENIED",
    "AUTH_FAILED",
    401,
    4,
    false,
    "The token is missing or wrong.",
  ),
  egress_denied: row(
    "PERMISSION_DENIED",
    "PERMISSION_DENIED",
    "FORBIDDEN",
    403,
    4,
    false,
    "The egress policy does not allow this model or address.",
  ),
  file_not_found: row(
    "NOT_FOUND",
    "RESOURCE_NOT_FOUND",
    "NOT_FOUND",
    404,
    5,
    false,
    "There is nothing at that path.",
  ),
  resource_not_found: row(
    "NOT_FOUND",
    "RESOURCE_NOT_FOUND",
    "NOT_FOUND",
    404,
    5,
    false,
    "There is no resource or prompt of that name.",
  ),
  not_a_directory: row(
    "NOT_A_DIRECTORY",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    422,
    5,
    false,
    "A directory was expected.",
  ),
  is_directory: row("IS_DIRECTORY", "VALIDATION_ERROR", "BAD_ARGS", 422, 5, false, "A file was expected."),
  already_exists: row(
    "ALREADY_EXISTS",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    409,
    5,
    false,
    "The target already exists and would be overwritten.",
  ),
  not_empty: row(
    "IS_DIRECTORY",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    409,
    5,
    false,
    "The directory is not empty, and recursive removal was not requested.",
  ),
  sha_mismatch: row(
    "SHA_MISMATCH",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    409,
    5,
    false,
    "The file is not the one that was read: its hash differs. Nothing was written.",
  ),
  text_not_found: row(
    "TEXT_NOT_FOUND",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    422,
    5,
    false,
    "The text to replace, or a line of the patch, is not in the file. Nothing was written.",
  ),
  text_ambiguous: row(
    "TEXT_AMBIGUOUS",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    422,
    5,
    false,
    "The text to replace does not occur as often as expected. Nothing was written.",
  ),
  write_failed: row(
    "WRITE_FAILED",
    "SERVICE_UNAVAILABLE",
    "INTERNAL",
    500,
    6,
    true,
    "The file could not be written; the old file is unchanged.",
  ),
  handle_not_found: row(
    "NOT_FOUND",
    "RESOURCE_NOT_FOUND",
    "NOT_FOUND",
    404,
    5,
    false,
    "There is no such handle, or it has expired.",
  ),
  file_too_large: row(
    "OUTPUT_TOO_LARGE",
    "VALIDATION_ERROR",
    "TOO_LARGE",
    413,
    6,
    false,
    "The file or request is larger than the limit.",
  ),
  unsupported_media: row(
    "INVALID_ARGS",
    "VALIDATION_ERROR",
    "BAD_ARGS",
    415,
    2,
    false,
    "The media type or encoding of the request body is not supported.",
  ),
  budget_exceeded: row(
    "OUTPUT_TOO_LARGE",
    "SERVICE_UNAVAILABLE",
    "FORBIDDEN",
    403,
    6,
    false,
    "The budget of this call or session is spent.",
  ),
  timeout: row(
    "TIMEOUT",
    "TIMEOUT",
    "TIMEOUT",
    504,
    7,
    true,
    "The call passed its deadline and was stopped.",
  ),
  cancelled: row(
    "CANCELLED",
    "TIMEOUT",
    "TIMEOUT",
    499,
    7,
    true,
    "The caller cancelled the call, or went away.",
  ),
  rate_limited: row(
    "RATE_LIMITED",
    "SERVICE_UNAVAILABLE",
    "RATE_LIMITED",
    429,
    8,
    true,
    "Too many requests; wait and try again.",
  ),
  busy: row(
    "BUSY",
    "SERVICE_UNAVAILABLE",
    "BUSY",
    503,
    8,
    true,
    "Too many calls are running, or a resource of the machine is temporarily exhausted.",
  ),
  provider_error: row(
    "UNAVAILABLE",
    "SERVICE_UNAVAILABLE",
    "INTERNAL",
    502,
    9,
    true,
    "The model provider answered with an error.",
  ),
  unavailable: row(
    "UNAVAILABLE",
    "SERVICE_UNAVAILABLE",
    "BUSY",
    503,
    9,
    false,
    "Something this call needs is missing or switched off.",
  ),
  audit_unavailable: row(
    "UNAVAILABLE",
    "SERVICE_UNAVAILABLE",
    "BUSY",
    503,
    9,
    false,
    "The audit trail cannot be written, so a call that must be recorded was not done, or its result is withheld.",
  ),
  internal_error: row(
    "INTERNAL_ERROR",
    "INTERNAL_ERROR",
    "INTERNAL",
    500,
    1,
    false,
    "An unexpected error; the log has the details under the correlation id.",
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** Which family of documents a tool belongs to: it decides the code that a model sees. */
export type ErrorFamily = "plain" | "linux" | "kb";

export const familyOf = (toolName: string): ErrorFamily => {
  if (toolName.startsWith("linux_")) return "linux";
  if (toolName.startsWith("kb_") || toolName.startsWith("admin_")) return "kb";
  return "plain";
};

export const publishedCode = (code: ErrorCode, family: ErrorFamily): string =>
  family === "plain" ? code : ERROR_TABLE[code][family];
