import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

interface FrontConnectionParts {
  /** Serves what comes over the connections. */
  readonly server: Server;
  readonly token: string;
  readonly connect: (path: string) => Socket;
  /** Whether the kernel says that the process at the other end is that front, or the supervisor, which made its socket. */
  readonly isFront: (socket: Socket, pid: number) => boolean;
  /** Connections to one front at once. */
  readonly maxConnections: () => number;
  readonly onRefused: (reason: string) => void;
}

interface Front {
  readonly pid: number;
  readonly path: string;
  count: number;
  /** The front has not used it yet. */
  spare: Socket | undefined;
}

/** Delay after a connection that ended unused. */
const RETRY_MS = 100;
/** Nobody listens there any more. */
const GONE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ECONNREFUSED"]);

/**
 * The core's connections to its fronts. A front may neither make sockets nor connect any, so the core does: it keeps one
 * connection ready that the front does not use yet, up to a bound.
 */
export const createFrontConnections = (parts: FrontConnectionParts) => {
  const { server, token, connect, isFront, maxConnections, onRefused } = parts;
  /** A server that does not listen keeps no account of its connections. */
  const sockets = new Set<Socket>();
  const fronts = new Map<string, Front>();
  const frontOf = new WeakMap<Socket, Front>();
  let isClosed = false;

  const open = (front: Front): void => {
    if (isClosed || fronts.get(front.path) !== front) return;
    if (front.spare !== undefined || front.count >= maxConnections()) return;
    const socket = connect(front.path);
    front.spare = socket;
    front.count++;
    sockets.add(socket);
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      if (GONE.has(code)) fronts.delete(front.path);
    });
    socket.once("connect", () => {
      if (!isFront(socket, front.pid)) {
        onRefused("a front's socket is another process's");
        fronts.delete(front.path);
        socket.destroy();
        return;
      }
      frontOf.set(socket, front);
      // The front serves nobody else's connections.
      socket.write(token);
      server.emit("connection", socket);
      // A spare may wait for as long as the front needs no other; the server's idle time is for those in use.
      socket.setTimeout(0);
    });
    socket.once("close", () => {
      front.count--;
      sockets.delete(socket);
      const wasOfUse = front.spare !== socket;
      if (!wasOfUse) front.spare = undefined;
      if (wasOfUse) open(front);
      else setTimeout(() => open(front), RETRY_MS).unref();
    });
  };

  return {
    /** The supervisor has started a front that accepts connections there. */
    add: (pid: number, path: string): void => {
      const front: Front = { pid, path, count: 0, spare: undefined };
      fronts.set(path, front);
      open(front);
    },
    /** The first request of a connection has come: whether it is one of these. */
    use: (socket: Socket): boolean => {
      const front = frontOf.get(socket);
      if (front === undefined) return false;
      if (front.spare === socket) {
        front.spare = undefined;
        socket.setTimeout(server.timeout);
      }
      open(front);
      return true;
    },
    /** The front at the other end of a connection that is one of these. */
    nameOf: (socket: Duplex): string => frontOf.get(socket as Socket)?.path ?? "",
    /** The front has ended: nothing that it has sent is read any more. */
    remove: (path: string): void => {
      const front = fronts.get(path);
      fronts.delete(path);
      for (const socket of sockets)
        if (front !== undefined && frontOf.get(socket) === front) socket.destroy();
    },
    close: (): void => {
      isClosed = true;
      for (const socket of sockets) socket.destroy();
    },
  };
};
