import { hash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import type { CallTable } from "./call-table.ts";
import type { EventLog } from "./event-log.ts";
import { type PerformParts, perform, refusalLine } from "./perform.ts";
import { parseCancel, parseLinkRequest, parseLog } from "./request.ts";
import { isServed, SCHEMA_HEADER, schemaText, TOKEN_HEADER, UNNUMBERED } from "./schema-version.ts";
import type { Snapshot } from "./snapshot.ts";
import { toWireError, type WireEvent, type WireLine } from "./wire.ts";

export interface LinkServerParts extends PerformParts {
  readonly table: CallTable;
  readonly events: EventLog;
  readonly generation: number;
  readonly token: string;
  readonly snapshot: () => Snapshot;
  /** Whether the process at the other end is the front that the supervisor started; asked once per connection. */
  readonly isFront: (socket: Socket) => boolean;
  /** A bounded, harmless text of the front for the log. */
  readonly onLog: (level: "warn" | "error", message: string) => void;
  readonly onRefused: (reason: string) => void;
  readonly maxBodyBytes: () => number;
}

/** The lifetimes of the design documents, in milliseconds. */
const KEEP_ALIVE_MS = 60_000;
const IDLE_MS = 300_000;
const MAX_CONNECTION_MS = 3_600_000;

/** An empty line now and then keeps a long request from looking idle, and shows a front that is gone. */
const HEARTBEAT_MS = 60_000;

/** Progress for a front that does not read is dropped past this many bytes. */
const MAX_UNREAD_BYTES = 1_048_576;

const sameSecret = (given: string | string[] | undefined, expected: string): boolean =>
  typeof given === "string" &&
  timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", expected, "buffer"));

const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes)
      throw new LlmcError("file_too_large", `The request is larger than ${maxBytes} bytes.`);
    parts.push(part);
  }
  return Buffer.concat(parts);
};

const sendError = (response: ServerResponse, error: LlmcError): void => {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(ERROR_TABLE[error.code].status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: toWireError(error) }));
};

const openStream = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  const heartbeat = setInterval(() => response.write("\n"), HEARTBEAT_MS);
  heartbeat.unref();
  response.once("close", () => clearInterval(heartbeat));
};

const serveRequest = (parts: LinkServerParts, body: Buffer, response: ServerResponse): void => {
  const request = parseLinkRequest(body);
  const { n, round, generation, work } = request;
  const run = async (signal: AbortSignal, emit: (line: string) => void): Promise<string> =>
    JSON.stringify(await perform(parts, request, signal, (line: WireLine) => emit(JSON.stringify(line))));
  const listener = (line: string, isLast: boolean): void => {
    if (isLast) response.end(`${line}\n`);
    else if (response.writableLength < MAX_UNREAD_BYTES) response.write(`${line}\n`);
  };
  if (n === UNNUMBERED) {
    if (work.method !== "listTools" && work.method !== "resources")
      throw new LlmcError("invalid_args", "The request has no number.");
    openStream(response);
    void run(new AbortController().signal, () => {}).then((line) => listener(line, true));
    return;
  }
  openStream(response);
  const isRepeatable = work.method !== "call" || parts.core.effectOf(work.tool) === "read";
  const refuse = (error: LlmcError): string => JSON.stringify(refusalLine(request, error));
  response.once("close", parts.table.begin({ n, round, generation, isRepeatable, run, refuse }, listener));
};

const serveEvents = ({ events, snapshot }: LinkServerParts, url: URL, response: ServerResponse): void => {
  openStream(response);
  const send = (event: WireEvent): void => void response.write(`${JSON.stringify(event)}\n`);
  send({ snapshot: snapshot() });
  const after = url.searchParams.get("after");
  const stop = events.follow(after !== null && /^\d{1,15}$/.test(after) ? Number(after) : undefined, send);
  response.once("close", stop);
};

const route = async (
  parts: LinkServerParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const url = new URL(request.url ?? "/", "http://link");
  const endpoint = `${request.method} ${url.pathname}`;
  const body = () => readBody(request, parts.maxBodyBytes());
  switch (endpoint) {
    case "GET /v1/events":
      serveEvents(parts, url, response);
      return;
    case "POST /v1/request":
      serveRequest(parts, await body(), response);
      return;
    case "POST /v1/cancel":
      parts.table.cancel(parseCancel(await body()).n);
      response.writeHead(204).end();
      return;
    case "POST /v1/log":
      for (const { level, message } of parseLog(await body()).entries) parts.onLog(level, message);
      response.writeHead(204).end();
      return;
    default:
      throw new LlmcError("resource_not_found", "The link has no such endpoint.");
  }
};

const admit = (parts: LinkServerParts, request: IncomingMessage, fronts: WeakSet<Socket>): void => {
  if (!fronts.has(request.socket) && !parts.isFront(request.socket))
    throw new LlmcError("forbidden", "This process is not the server's front.");
  fronts.add(request.socket);
  if (!sameSecret(request.headers[TOKEN_HEADER], parts.token))
    throw new LlmcError("auth_failed", "The link's token is missing or wrong.");
  const schema = request.headers[SCHEMA_HEADER];
  if (!isServed(typeof schema === "string" ? schema : undefined))
    throw new LlmcError("invalid_args", `This core speaks version ${schemaText()} of the link.`);
};

/** The core's end of the link. The caller opens the socket that it listens on. */
export const createLinkServer = (parts: LinkServerParts): Server => {
  const fronts = new WeakSet<Socket>();
  const since = new WeakMap<Socket, number>();
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: KEEP_ALIVE_MS, maxHeaderSize: 16_384 },
    (request, response) => {
      response.on("error", () => {});
      const fail = (thrown: unknown): void => {
        const error = toLlmcError(thrown);
        parts.onRefused(error.message);
        // What is left of a body that is not read would be taken for the next request.
        response.setHeader("connection", "close");
        sendError(response, error);
      };
      try {
        admit(parts, request, fronts);
      } catch (thrown) {
        fail(thrown);
        return;
      }
      const age = performance.now() - (since.get(request.socket) ?? 0);
      if (age > MAX_CONNECTION_MS) response.setHeader("connection", "close");
      response.setHeader(SCHEMA_HEADER, schemaText());
      response.setHeader("x-llmc-generation", parts.generation);
      void route(parts, request, response).catch(fail);
    },
  );
  server.setTimeout(IDLE_MS);
  server.on("connection", (socket) => {
    since.set(socket, performance.now());
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
};
