import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { LlmcError } from "../../base/error.ts";
import type { KeyPair } from "../os/key-pair.ts";
import { type Connections, createConnections } from "./connections.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
}

export interface ServerLimits {
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  /** For the headers of a request to arrive. */
  readonly headersTimeoutMs: number;
  /** For all of a request to arrive, and for the peer to take some more of an answer. */
  readonly requestTimeoutMs: number;
  /** For a connection between requests. */
  readonly idleTimeoutMs: number;
}

/** How often Node looks for requests that are overdue: they may take this much longer. */
const CHECK_MS = 1000;
const HANDSHAKE_MS = 10_000;

const connectionsOf = new WeakMap<Server, Connections>();

const optionsOf = (limits: ServerLimits) => ({
  maxHeaderSize: limits.maxHeaderBytes,
  headersTimeout: limits.headersTimeoutMs,
  requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
  keepAliveTimeout: limits.idleTimeoutMs,
  connectionsCheckingInterval: CHECK_MS,
  // Some clients offer HTTP/2 with every request; they are answered as they asked, in HTTP/1.1.
  shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
});

export const createHttpServer = (
  handler: RequestListener,
  limits: ServerLimits,
  keyPair: KeyPair | undefined,
): Server => {
  const options = optionsOf(limits);
  const connections = createConnections({
    maxConnections: limits.maxConnections,
    unreadTimeoutMs: limits.requestTimeoutMs,
  });
  const bounded = connections.bound(handler);
  const server =
    keyPair === undefined
      ? createServer(options, bounded)
      : createTlsServer(
          { ...options, ...keyPair, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS },
          bounded,
        );
  connections.follow(server);
  connectionsOf.set(server, connections);
  return server;
};

/**
 * Serves what a front passes on, over connections that it is handed; it listens nowhere. Whether a Host header is there is
 * judged with everything else.
 */
export const createPassedOnServer = (handler: RequestListener, limits: ServerLimits): Server => {
  const connections = createConnections({
    maxConnections: limits.maxConnections,
    unreadTimeoutMs: limits.requestTimeoutMs,
  });
  const server = createServer({ ...optionsOf(limits), requireHostHeader: false }, connections.bound(handler));
  connections.follow(server);
  connectionsOf.set(server, connections);
  return server;
};

/** Serves new connections with another certificate; those that are open keep theirs. */
export const renewKeyPair = (server: Server, keyPair: KeyPair): void =>
  (server as TlsServer).setSecureContext(keyPair);

/** A failure to listen, for people. */
export const explainListen = (error: NodeJS.ErrnoException, { host, port }: ListenOptions): LlmcError => {
  if (error.code === "EADDRINUSE") {
    return new LlmcError("unavailable", `Port ${port} on ${host} is taken.`, {
      hint: "Choose another with --port, or 0 for any free one.",
      cause: error,
    });
  }
  if (error.code === "EACCES")
    return new LlmcError("permission_denied", `Port ${port} may not be opened by this user.`, {
      hint: "Use a port above 1023.",
      cause: error,
    });
  return new LlmcError("unavailable", `Cannot listen on ${host}:${port} (${error.code}).`, { cause: error });
};

/** Opens the listener; resolves with the port that was really taken. */
export const listen = (server: Server, options: ListenOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", (error) => reject(explainListen(error, options)));
    server.listen(options.port, options.host, () => resolve((server.address() as AddressInfo).port));
  });

/** Stops taking connections, lets requests under way finish, and ends idle connections; at the limit, all of them. */
export const closeServer = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    // Node's own sweep leaves out connections that have not sent anything yet.
    const closeIdle = (): void => connectionsOf.get(server)?.endIdle();
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    // A connection becomes idle when its last answer or stream ends, which may be after this.
    const sweep = setInterval(closeIdle, 50);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(sweep);
      resolve();
    });
    closeIdle();
  });
