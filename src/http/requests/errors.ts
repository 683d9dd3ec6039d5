import type { FastifyReply, FastifyRequest } from "fastify";
import { LlmcError, renderForHttp, renderForInvoke, toLlmcError } from "../../base/error.ts";
import { ERROR_TABLE } from "../../base/error-table.ts";

const fastifyStatus = (thrown: unknown): unknown =>
  typeof thrown === "object" && thrown !== null && "statusCode" in thrown ? thrown.statusCode : undefined;

/** The errors of Fastify as ours. */
const translate = (thrown: unknown): LlmcError => {
  if (thrown instanceof LlmcError) return thrown;
  switch (fastifyStatus(thrown)) {
    case 415:
      return unsupported("The body must be application/json.");
    case 400:
      return new LlmcError("invalid_args", "The request is malformed.");
    default:
      return toLlmcError(thrown);
  }
};

/** A request that is not well-formed HTTP. */
export class MalformedRequest extends LlmcError {
  constructor(message: string) {
    super("invalid_args", message, { hint: "Send each header once." });
  }
}

const statusOf = (error: LlmcError): number =>
  error instanceof MalformedRequest ? 400 : ERROR_TABLE[error.code].status;

export const unsupported = (message: string): LlmcError =>
  new LlmcError("unsupported_media", message, { hint: "Send plain, uncompressed JSON." });

/** Milliseconds after which the request may be tried again; undefined if that would not help. */
const retryAfterMs = ({ code, details }: LlmcError): number | undefined => {
  const given = details["retry_after_ms"];
  if (typeof given === "number") return given;
  return code === "rate_limited" || code === "busy" ? 1000 : undefined;
};

/** Errors that occur before the body is read: the connection ends, so that the rest of the body is not waited for. */
const ENDS_CONNECTION = new Set<LlmcError["code"]>(["auth_failed", "file_too_large", "unsupported_media"]);

/** JSON-RPC clients expect their own form of errors; -32700 means that the body could not be parsed. */
const renderForMcp = (error: LlmcError) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code: error.code === "invalid_args" ? -32_700 : -32_000, message: error.message },
});

const MCP_BODY_ERRORS = new Set<LlmcError["code"]>(["invalid_args", "unsupported_media"]);

/** Of requests that never became a call. */
const MALFORMED = new Set<LlmcError["code"]>(["invalid_args", "unsupported_media", "file_too_large"]);

/** Answers with the error envelope of the endpoint. */
export const createErrorHandler =
  (
    onInternal: (error: LlmcError, correlationId: string) => void,
    onMalformed: (request: FastifyRequest) => void,
  ) =>
  (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const error = translate(thrown);
    const status = statusOf(error);
    if (error.code === "internal_error") onInternal(error, request.id);
    if (MALFORMED.has(error.code) && request.inFlight?.isRecorded === false) onMalformed(request);
    if (error.code === "auth_failed") reply.header("www-authenticate", "Bearer");
    const afterMs = retryAfterMs(error);
    if (afterMs !== undefined) reply.header("retry-after", Math.max(1, Math.ceil(afterMs / 1000)));
    if (ENDS_CONNECTION.has(error.code)) reply.header("connection", "close");
    if (request.routeOptions.url === "/mcp" && MCP_BODY_ERRORS.has(error.code)) {
      return reply.code(error.code === "invalid_args" ? 400 : status).send(renderForMcp(error));
    }
    if (request.routeOptions.url === "/invoke")
      return reply.code(status).send(renderForInvoke(error, request.id, new Date().toISOString()));
    return reply.code(status).send(renderForHttp(error, request.id));
  };

/** Answers to requests that Node's parser refuses, by the parser's error code. */
const PARSER_ERRORS: Readonly<Record<string, readonly [status: number, code: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "TOO_LARGE", "The request headers are too large."],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "TOO_LARGE", "The request body is too large."],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "TIMEOUT", "The request did not arrive in time."],
};

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  401: "Unauthorized",
  408: "Request Timeout",
  413: "Payload Too Large",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
};

interface RawError {
  readonly status: number;
  readonly body: object;
  readonly correlationId: string;
  readonly headers?: readonly string[];
}

/** A whole HTTP response as text, for a connection that has no response object. */
const renderRaw = ({ status, body, correlationId, headers = [] }: RawError): string => {
  const text = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Error"}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Correlation-Id: ${correlationId}`,
    ...headers,
    "Connection: close",
    "",
    text,
  ].join("\r\n");
};

/** The response to bytes that are not a valid request. */
export const renderParserError = (code: string | undefined, correlationId: string): string => {
  const [status, published, message] = PARSER_ERRORS[code ?? ""] ?? [
    400,
    "BAD_ARGS",
    "The request is malformed.",
  ];
  return renderRaw({
    status,
    correlationId,
    body: { code: published, message, correlation_id: correlationId },
  });
};

/** The response to an upgrade that was refused. */
export const renderRawError = (thrown: unknown, correlationId: string): string => {
  const error = translate(thrown);
  const afterMs = retryAfterMs(error);
  return renderRaw({
    status: statusOf(error),
    correlationId,
    body: renderForHttp(error, correlationId),
    headers: afterMs === undefined ? [] : [`Retry-After: ${Math.max(1, Math.ceil(afterMs / 1000))}`],
  });
};
