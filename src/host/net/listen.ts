import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { LlmcError } from "../../base/error.ts";
import type { KeyPair } from "../os/key-pair.ts";

interface ListenOptions {
  readonly host: string;
  readonly port: number;
}

interface ServerLimits {
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  /** For the headers of a request, and for all of it, to arrive. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** For a connection between requests. */
  readonly idleTimeoutMs: number;
}

/** How often Node looks for requests that are overdue: they may take this much longer. */
const CHECK_MS = 1000;
const HANDSHAKE_MS = 10_000;

/** Idle connections of a listener, in the order in which they became idle. */
const idleOf = new WeakMap<Server, Set<Socket>>();

/**
 * Bounds the connections. When all are taken, the one that has been idle longest makes room: whoever opens thousands
 * and says nothing loses them to those who speak. One that sends its headers drop by drop counts as idle.
 */
const boundConnections = (server: Server, maxConnections: number): void => {
  /** Requests under way by connection. */
  const open = new Map<Socket, number>();
  const idle = new Set<Socket>();
  idleOf.set(server, idle);

  const change = (socket: Socket, by: 1 | -1): void => {
    const before = open.get(socket);
    if (before === undefined) return;
    open.set(socket, before + by);
    if (before + by > 0) idle.delete(socket);
    else idle.add(socket);
  };
  const forget = (socket: Socket): void => {
    open.delete(socket);
    idle.delete(socket);
  };
  const makeRoom = (): boolean => {
    const [oldest] = idle;
    if (oldest === undefined) return false;
    forget(oldest);
    oldest.destroy();
    return true;
  };

  // Before a TLS handshake as well: the bound is on what the kernel holds for us.
  server.on("connection", (socket: Socket) => {
    if (open.size >= maxConnections && !makeRoom()) {
      socket.destroy();
      return;
    }
    open.set(socket, 0);
    idle.add(socket);
    socket.once("close", () => forget(socket));
  });
  const beneath = (socket: Socket): Socket =>
    "_parent" in socket && socket._parent !== null ? (socket._parent as Socket) : socket;
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const socket = beneath(request.socket);
    change(socket, 1);
    response.on("close", () => change(socket, -1));
  });
  // What follows an upgrade has a heartbeat of its own.
  server.on("upgrade", (request: IncomingMessage) => change(beneath(request.socket), 1));
};

export const createHttpServer = (
  handler: RequestListener,
  limits: ServerLimits,
  keyPair: KeyPair | undefined,
): Server => {
  const options = {
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
    // Some clients offer HTTP/2 with every request; they are answered as they asked, in HTTP/1.1.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
  const server =
    keyPair === undefined
      ? createServer(options, handler)
      : createTlsServer(
          { ...options, ...keyPair, minVersion: "TLSv1.2", handshakeTimeout: HANDSHAKE_MS },
          handler,
        );
  boundConnections(server, limits.maxConnections);
  return server;
};

/** Serves new connections with another certificate; those that are open keep theirs. */
export const renewKeyPair = (server: Server, keyPair: KeyPair): void =>
  (server as TlsServer).setSecureContext(keyPair);

const explain = (error: NodeJS.ErrnoException, { host, port }: ListenOptions): LlmcError => {
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
    server.once("error", (error) => reject(explain(error, options)));
    server.listen(options.port, options.host, () => resolve((server.address() as AddressInfo).port));
  });

/** Stops taking connections, lets requests under way finish, and ends idle connections; at the limit, all of them. */
export const closeServer = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    // Node's own sweep leaves out connections that have not sent anything yet.
    const closeIdle = (): void => {
      for (const socket of idleOf.get(server) ?? []) socket.destroy();
    };
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
