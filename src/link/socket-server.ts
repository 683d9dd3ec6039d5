import { hash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { createConnections } from "../host/net/connections.ts";
import { agreeOn, HELLO_PATH, isServed, SCHEMA_HEADER, schemaText, TOKEN_HEADER } from "./schema-version.ts";

interface SocketServerParts {
  readonly token: string;
  /** Whether the process at the other end may ask at all; asked once per connection. Throws if it may not. */
  readonly checkPeer: (socket: Socket) => void;
  /** Whether a request has to name its version of the schema; one that does is served only if it fits. */
  readonly needsSchema: boolean;
  /** Milliseconds within which a request has to be there as a whole. */
  readonly maxRequestMs?: number;
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** `isAdmitted` unless the request failed before it was looked at. */
  readonly sendError: (
    request: IncomingMessage,
    response: ServerResponse,
    error: LlmcError,
    isAdmitted: boolean,
  ) => void;
  /** A path at which connections become something else than HTTP. */
  readonly upgrade?: {
    readonly path: string;
    readonly protocol: string;
    readonly serve: (socket: Duplex) => void;
  };
}

/** Node's own `requestTimeout` works only on servers that listen. */
const MAX_REQUEST_MS = 60_000;
/** The lifetimes of connections (REQ-I7), in milliseconds. */
const KEEP_ALIVE_MS = 60_000;
/** Does not apply while an answer is pending: a call may take longer. */
const IDLE_MS = 300_000;
const MAX_CONNECTION_MS = 3_600_000;

const sameSecret = (given: string | string[] | undefined, expected: string): boolean =>
  typeof given === "string" &&
  timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", expected, "buffer"));

const checkHeaders = ({ token, needsSchema }: SocketServerParts, { headers, url }: IncomingMessage): void => {
  if (!sameSecret(headers[TOKEN_HEADER], token))
    throw new LlmcError("auth_failed", "The token of this start is missing or wrong.");
  const schema = headers[SCHEMA_HEADER];
  if (schema === undefined && !needsSchema) return;
  const given = typeof schema === "string" ? schema : undefined;
  if (url === HELLO_PATH ? agreeOn(given) === undefined : !isServed(given))
    throw new LlmcError("invalid_args", `This server speaks version ${schemaText()} of the link.`);
};

/**
 * HTTP on a Unix socket: the kernel identifies the peer, and the token of this start every request. The caller
 * opens the socket that it listens on, or passes it connections; how many there are is bounded by the caller.
 */
export const createSocketServer = (parts: SocketServerParts): Server => {
  const known = new WeakSet<Socket>();
  const since = new WeakMap<Socket, number>();
  const upgraded = new Set<Duplex>();
  const admit = (request: IncomingMessage): void => {
    if (!known.has(request.socket)) parts.checkPeer(request.socket);
    known.add(request.socket);
    checkHeaders(parts, request);
  };
  const connections = createConnections({
    // The caller bounds their number.
    maxConnections: Number.POSITIVE_INFINITY,
    unreadTimeoutMs: IDLE_MS,
  });
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: MAX_REQUEST_MS, maxHeaderSize: 16_384 },
    connections.bound((request, response) => {
      response.on("error", () => {});
      const fail = (thrown: unknown, isAdmitted: boolean): void => {
        // What is left of a body that is not read would be taken for the next request.
        if (!response.headersSent) response.setHeader("connection", "close");
        parts.sendError(request, response, toLlmcError(thrown), isAdmitted);
      };
      try {
        admit(request);
      } catch (thrown) {
        fail(thrown, false);
        return;
      }
      const age = performance.now() - (since.get(request.socket) ?? 0);
      if (age > MAX_CONNECTION_MS) response.setHeader("connection", "close");
      response.setHeader(SCHEMA_HEADER, schemaText());
      // A request that ended early has no socket any more.
      const { socket } = request;
      socket.setTimeout(0);
      response.once("prefinish", () => socket.setTimeout(server.timeout));
      const slow = setTimeout(() => {
        if (!request.complete) socket.destroy();
      }, parts.maxRequestMs ?? MAX_REQUEST_MS).unref();
      request.once("close", () => clearTimeout(slow));
      void parts.answer(request, response).catch((thrown: unknown) => fail(thrown, true));
    }),
  );
  connections.follow(server);
  server.setTimeout(IDLE_MS);
  server.on("connection", (socket) => {
    since.set(socket, performance.now());
  });
  server.on("upgrade", (request, socket, early) => {
    const { path, protocol, serve } = parts.upgrade ?? {};
    socket.on("error", () => socket.destroy());
    const response = new ServerResponse(request);
    response.assignSocket(socket as Socket);
    response.setHeader("connection", "close");
    response.once("finish", () => socket.end());
    try {
      admit(request);
      if (serve === undefined || request.url !== path || request.headers.upgrade !== protocol)
        throw new LlmcError("resource_not_found", "There is no such endpoint.");
    } catch (thrown) {
      parts.sendError(request, response, toLlmcError(thrown), false);
      return;
    }
    response.detachSocket(socket as Socket);
    // It may be silent for as long as a tool takes.
    (socket as Socket).setTimeout(0);
    (socket as Socket).setNoDelay(true);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\n\r\n`);
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.unshift(early);
    serve(socket);
  });
  const closeAll = server.closeAllConnections.bind(server);
  // Node forgets connections that were upgraded.
  server.closeAllConnections = () => {
    closeAll();
    for (const socket of upgraded) socket.destroy();
  };
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
};
