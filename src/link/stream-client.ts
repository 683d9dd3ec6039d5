import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { LlmcError } from "../base/error.ts";
import { failureOf, LinkBroken, textOf } from "./link-broken.ts";
import { createFrameReader, encodeFrame, STREAM_PATH, STREAM_PROTOCOL } from "./stream-frames.ts";
import { isLast, type WireLine } from "./wire.ts";

interface StreamParts {
  /** A connection to the core that nobody uses yet. */
  readonly connect: () => Promise<Socket>;
  readonly headers: () => Readonly<Record<string, string>>;
  /** Connections that are open at once; each carries any number of requests. */
  readonly poolSize: () => number;
}

/** The lifetimes of connections (REQ-I7), in milliseconds. */
const IDLE_MS = 300_000;
const MAX_CONNECTION_MS = 3_600_000;
/** Answers of tools are bounded far below. */
const MAX_LINE_BYTES = 128 * 1024 * 1024;

interface Pending {
  readonly onLine: (line: WireLine) => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

interface Connection {
  readonly socket: Promise<Socket>;
  readonly pending: Map<number, Pending>;
  readonly openedAt: number;
  isOver: boolean;
}

const openSocket = async ({ connect, headers }: StreamParts): Promise<Socket> => {
  const connection = await connect();
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      createConnection: () => connection,
      path: STREAM_PATH,
      headers: { ...headers(), connection: "Upgrade", upgrade: STREAM_PROTOCOL },
    });
    request.once("error", (error) => reject(new LinkBroken(error.message)));
    request.once("upgrade", (_response, socket, early) => {
      socket.unshift(early);
      resolve(socket);
    });
    request.once("response", (response) => {
      textOf(response).then((text) => reject(failureOf(text)), reject);
    });
    request.end();
  });
};

const answerTooLarge = (): LlmcError => new LlmcError("file_too_large", "The answer is too large.");

const fail = ({ pending }: Connection, stream: number, error: Error): void => {
  pending.get(stream)?.reject(error);
  pending.delete(stream);
};

/** The front's requests to the core: a few connections, each with many requests under way. */
export const createStreamClient = (parts: StreamParts) => {
  const connections = new Set<Connection>();
  let last = 0;

  const end = (connection: Connection, why: string): void => {
    if (connection.isOver) return;
    connection.isOver = true;
    connections.delete(connection);
    for (const { reject } of connection.pending.values()) reject(new LinkBroken(why));
    connection.pending.clear();
    void connection.socket.then(
      (socket) => socket.destroy(),
      () => {},
    );
  };

  const take = (connection: Connection, stream: number, payload: Buffer, isRefused: boolean): void => {
    const waiting = connection.pending.get(stream);
    if (waiting === undefined) return;
    const text = payload.toString("utf8");
    if (isRefused) {
      fail(connection, stream, failureOf(text));
      return;
    }
    const line = JSON.parse(text) as WireLine;
    waiting.onLine(line);
    if (!isLast(line)) return;
    connection.pending.delete(stream);
    waiting.resolve();
  };

  const follow = (connection: Connection, socket: Socket): void => {
    const read = createFrameReader({
      maxBytes: () => MAX_LINE_BYTES,
      onFrame: (stream, payload, kind) => take(connection, stream, payload, kind === "refused"),
      onOversize: (stream) => fail(connection, stream, answerTooLarge()),
      onMalformed: () => end(connection, "not an answer of the core"),
    });
    socket.setNoDelay(true);
    socket.setTimeout(IDLE_MS, () => {
      if (connection.pending.size === 0) end(connection, "idle");
    });
    socket.on("data", read);
    socket.on("error", (error) => end(connection, error.message));
    socket.on("close", () => end(connection, "closed"));
  };

  const connect = (): Connection => {
    const connection: Connection = {
      socket: openSocket(parts),
      pending: new Map(),
      openedAt: performance.now(),
      isOver: false,
    };
    connections.add(connection);
    connection.socket.then(
      (socket) => follow(connection, socket),
      () => connections.delete(connection),
    );
    return connection;
  };

  /** One that has nothing to do, else a new one, else the one that has least to do. */
  const choose = (): Connection => {
    let best: Connection | undefined;
    for (const connection of connections) {
      const isOld = performance.now() - connection.openedAt > MAX_CONNECTION_MS;
      if (isOld && connection.pending.size === 0) end(connection, "old");
      else if (!isOld && (best === undefined || connection.pending.size < best.pending.size))
        best = connection;
    }
    if (best !== undefined && (best.pending.size === 0 || connections.size >= parts.poolSize())) return best;
    return connect();
  };

  return {
    /** Sends a request and passes on the lines of its answer until the last one. */
    ask: async (body: string, onLine: (line: WireLine) => void): Promise<void> => {
      const connection = choose();
      last = (last + 1) % 0xffff_ffff;
      const stream = last;
      const answered = new Promise<void>((resolve, reject) =>
        connection.pending.set(stream, { onLine, resolve, reject }),
      );
      const sent = connection.socket.then((socket) => {
        if (!connection.isOver) socket.write(encodeFrame(stream, body));
      });
      try {
        // Either may fail first: there is no connection, or everything is closed while one is waited for.
        await Promise.all([sent, answered]);
      } finally {
        connection.pending.delete(stream);
      }
    },
    close: (): void => {
      for (const connection of connections) end(connection, "closed");
    },
  };
};
