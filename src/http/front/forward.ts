import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { LlmcError, renderForHttp } from "../../base/error.ts";
import { ERROR_TABLE } from "../../base/error-table.ts";
import { parseGuardedBytes } from "../../base/json-guard.ts";
import type { ByteBudget } from "../../link/byte-budget.ts";
import type { HttpExchange } from "../../link/http-exchange.ts";
import { BODY_HEADERS, refusedTrailer } from "../../link/http-link.ts";
import { readBodyWithin } from "../../link/read-body.ts";
import { answerHeaders, headOf } from "./headers.ts";

export interface ForwardParts {
  readonly exchange: HttpExchange;
  /** The header that carries tokens, in lower case. */
  readonly tokenHeader: () => string;
  readonly maxRequestBytes: number;
  /** For all bodies that are being read. */
  readonly bodies: ByteBudget;
  readonly newId: () => string;
  /** Another front has taken over: clients are to connect anew. */
  readonly isClosing: () => boolean;
}

/** The server reads no body of these. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export const coreGone = (): LlmcError =>
  new LlmcError("unavailable", "The server is not ready.", { hint: "Try again in a moment." });

const hasBody = ({ method = "GET", headers }: IncomingMessage): boolean =>
  !WITHOUT_BODY.has(method) &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);

/** The client's body in words of the front's own: JSON that is read the same way by every parser. */
const rewrittenBody = async (
  request: IncomingMessage,
  { maxRequestBytes, bodies }: ForwardParts,
): Promise<string> => {
  const bytes = await readBodyWithin(bodies, request, maxRequestBytes);
  return JSON.stringify(parseGuardedBytes(bytes));
};

/** Sends the body that the core has asked for; one that cannot be accepted is reported to it instead. */
const sendBody = async (request: IncomingMessage, out: ClientRequest, parts: ForwardParts): Promise<void> => {
  try {
    const text = await rewrittenBody(request, parts);
    out.end(text);
  } catch (thrown) {
    out.addTrailers(refusedTrailer(thrown));
    out.end();
  }
};

/** An answer as it comes, at the pace of whoever reads it. */
const passBack = (
  incoming: IncomingMessage,
  response: ServerResponse,
  out: ClientRequest,
  isClosing: boolean,
): void => {
  response.writeHead(incoming.statusCode ?? 502, answerHeaders(incoming, isClosing));
  // A stream may have nothing to say for a while.
  if (incoming.headers["content-length"] === undefined) response.flushHeaders();
  pipeline(incoming, response, (error) => {
    if (error) response.destroy();
    // A body that the core has not asked for is never sent.
    if (!out.writableEnded) out.destroy();
  });
};

const answerUnavailable = (response: ServerResponse, newId: () => string): void => {
  const error = coreGone();
  const id = newId();
  const text = JSON.stringify(renderForHttp(error, id));
  response
    .writeHead(ERROR_TABLE[error.code].status, {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
      "retry-after": "1",
      "x-correlation-id": id,
      connection: "close",
    })
    .end(text);
};

/**
 * Passes one request on to the core and its answer back. The core decides by the head whether the client is served, and
 * only then asks for the body: a client without a token costs no more than its headers.
 */
export const forward = (request: IncomingMessage, response: ServerResponse, parts: ForwardParts): void => {
  const { method, path, headers } = headOf(request, parts.tokenHeader());
  const isAsked = hasBody(request);
  const framing = isAsked ? BODY_HEADERS : WITHOUT_BODY.has(method) ? [] : ["content-length", "0"];
  const gone = new AbortController();
  let out: ClientRequest;
  try {
    out = parts.exchange.open({ method, path, headers: [...headers, ...framing] }, gone.signal);
  } catch {
    answerUnavailable(response, parts.newId);
    return;
  }
  response.on("error", () => {});
  response.on("close", () => {
    // Whatever is done for a client that has left is cancelled.
    if (response.writableFinished) return;
    out.destroy();
    gone.abort();
  });
  out.once("continue", () => void sendBody(request, out, parts));
  out.once("response", (incoming) => passBack(incoming, response, out, parts.isClosing()));
  out.on("error", () => {
    if (response.headersSent) response.destroy();
    else if (!response.destroyed) answerUnavailable(response, parts.newId);
  });
  if (!isAsked) out.end();
};
