import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface ConnectionLimits {
  readonly maxConnections: number;
  /** How long a peer may leave its answers unread. */
  readonly unreadTimeoutMs: number;
}

interface Connection {
  /** Requests that are not answered to the last byte. */
  readonly answers: Set<ServerResponse>;
  readonly openedAt: number;
  /** When its last request began; 0 before the first. */
  began: number;
  /** What the connection became after an upgrade. */
  upgraded: Socket | undefined;
  /** Bytes that the peer did not take, when they were last looked at, and since when their number is the same. */
  unreadBytes: number;
  unreadSince: number;
}

/**
 * Requests that one connection may have under way. Node reads up to 64 KiB at once and hands over every request in it,
 * whether or not the peer reads the answers; clients that send several ahead send a few.
 */
const MAX_UNDER_WAY = 16;

/** A server that closes waits so long for the first request of a connection that it has just accepted. */
const FIRST_REQUEST_MS = 1000;

/** How often the connections are looked at. */
const CHECK_MS = 1000;

/** The TCP socket below a TLS one. */
const beneath = (socket: Socket): Socket =>
  "_parent" in socket && socket._parent !== null ? (socket._parent as Socket) : socket;

/** Bytes that wait in this process because the system takes no more: Node has no other name for this number. */
const unreadBytesOf = (socket: Socket): number =>
  (socket as { readonly _handle?: { readonly writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;

/** Whether nothing is being done for the peer: it only has to read its answers, or to send the rest of a request. */
const isWaitedFor = ({ answers, upgraded }: Connection): boolean =>
  upgraded === undefined
    ? [...answers].every(({ writableEnded, req }) => writableEnded || !req.complete)
    : upgraded.writableEnded || upgraded.destroyed;

type OpenConnections = ReadonlyMap<Socket, Connection>;

const longestWaitedFor = (open: OpenConnections): Socket | undefined =>
  [...open]
    .filter(([, connection]) => isWaitedFor(connection))
    .sort(([, a], [, b]) => a.began - b.began)[0]?.[0];

const endUnread = (open: OpenConnections, unreadTimeoutMs: number): void => {
  const now = performance.now();
  for (const [socket, connection] of open) {
    const unreadBytes = unreadBytesOf(socket);
    if (unreadBytes === 0 || unreadBytes !== connection.unreadBytes) {
      connection.unreadBytes = unreadBytes;
      connection.unreadSince = now;
    } else if (now - connection.unreadSince >= unreadTimeoutMs) socket.destroy();
  }
};

/**
 * The one place that bounds what peers may hold: the number of connections, the requests that each has under way, and
 * the time for which it leaves its answers unread. A stream with nothing to read may stay open for ever.
 *
 * When all connections are taken, the one that has been idle longest makes room, then the one whose peer has had longest to
 * send its request, to read or to hang up: whoever opens thousands and says nothing loses them to those who speak. One that
 * sends its headers drop by drop counts as idle.
 */
export const createConnections = ({ maxConnections, unreadTimeoutMs }: ConnectionLimits) => {
  const open = new Map<Socket, Connection>();
  /** Those without a request under way, in the order in which they became idle. */
  const idle = new Set<Socket>();

  const forget = (socket: Socket): void => {
    open.delete(socket);
    idle.delete(socket);
  };
  const makeRoom = (): boolean => {
    const [longestIdle] = idle;
    const longest = longestIdle ?? longestWaitedFor(open);
    if (longest === undefined) return false;
    forget(longest);
    longest.destroy();
    return true;
  };

  const add = (socket: Socket): void => {
    if (open.size >= maxConnections && !makeRoom()) {
      socket.destroy();
      return;
    }
    open.set(socket, {
      answers: new Set(),
      openedAt: performance.now(),
      began: 0,
      upgraded: undefined,
      unreadBytes: 0,
      unreadSince: 0,
    });
    idle.add(socket);
    socket.once("close", () => forget(socket));
  };

  /** Whether the request may be served. Beyond the limit its connection ends, before anything is done for it. */
  const begin = (request: IncomingMessage, response: ServerResponse): boolean => {
    const socket = beneath(request.socket);
    const connection = open.get(socket);
    // The rest of what was read together with the request that ended the connection.
    if (connection === undefined || socket.destroyed) return false;
    const { answers } = connection;
    if (answers.size >= MAX_UNDER_WAY) {
      socket.destroy();
      return false;
    }
    answers.add(response);
    connection.began = performance.now();
    idle.delete(socket);
    response.on("close", () => {
      answers.delete(response);
      if (answers.size === 0 && open.has(socket)) idle.add(socket);
    });
    return true;
  };

  const upgrade = ({ socket: upgraded }: IncomingMessage): void => {
    const socket = beneath(upgraded);
    const connection = open.get(socket);
    if (connection === undefined) return;
    connection.upgraded = upgraded;
    idle.delete(socket);
  };

  return {
    /** The handler, for requests that may be served. */
    bound:
      (handler: RequestListener): RequestListener =>
      (request, response) => {
        if (begin(request, response)) handler(request, response);
      },
    follow: (server: Server): void => {
      // Before a TLS handshake as well: the bound is on what the kernel holds for us.
      server.on("connection", add);
      server.on("upgrade", upgrade);
      // Node would answer by itself, however many of them come.
      server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
        if (begin(request, response)) response.writeHead(417).end();
      });
      const timer = setInterval(() => endUnread(open, unreadTimeoutMs), CHECK_MS).unref();
      server.on("close", () => clearInterval(timer));
    },
    /** For a server that closes: ends what is idle, apart from what a client has only just opened to ask something. */
    endIdle: (): void => {
      const fresh = performance.now() - FIRST_REQUEST_MS;
      for (const socket of idle) {
        const { began = 0, openedAt = 0 } = open.get(socket) ?? {};
        if (began > 0 || openedAt < fresh) socket.destroy();
      }
    },
  };
};

export type Connections = ReturnType<typeof createConnections>;
