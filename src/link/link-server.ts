import { hash } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import { type ByteBudget, createByteBudget } from "./byte-budget.ts";
import type { CallTable } from "./call-table.ts";
import type { EventLog } from "./event-log.ts";
import { type PerformParts, perform, refusalLine } from "./perform.ts";
import { readBodyWithin } from "./read-body.ts";
import { parseCancel, parseLinkRequest, parseLog } from "./request.ts";
import { HELLO_PATH, schemaText, UNNUMBERED } from "./schema-version.ts";
import type { Snapshot } from "./snapshot.ts";
import { createSocketServer } from "./socket-server.ts";
import { createFrameReader, encodeFrame, HEAD_BYTES, STREAM_PATH, STREAM_PROTOCOL } from "./stream-frames.ts";
import { type CoreGreeting, toWireError, type WireEvent, type WireLine } from "./wire.ts";

export interface LinkServerParts extends PerformParts {
  readonly table: CallTable;
  readonly events: EventLog;
  readonly generation: number;
  readonly token: string;
  readonly snapshot: () => Snapshot;
  /** Connections that a front may have for requests. */
  readonly connections: () => number;
  /**
   * Called once per connection, with its first request: false unless the process at the other end is a front that the
   * supervisor started.
   */
  readonly admitConnection: (socket: Socket) => boolean;
  /** Names the front at the other end of an admitted connection. */
  readonly frontOf: (connection: Duplex) => string;
  /** A bounded, harmless text of the front for the log. */
  readonly onLog: (level: "warn" | "error", message: string) => void;
  /**
   * The front, or this end of the link, refused `count` messages; the reason is a text from the front, as for the log.
   */
  readonly onRefused: (reason: string, count?: number) => void;
  readonly maxBodyBytes: () => number;
  readonly maxRequestMs?: number;
  /** Of all requests together, from their first byte until their work has ended. */
  readonly maxOpenBytes?: number;
}

/** An empty line now and then keeps a long request from looking idle, and shows a front that is gone. */
const HEARTBEAT_MS = 60_000;

/** A client has 32 MiB open at most. */
const MAX_OPEN_BYTES = 128 * 1024 * 1024;

/** Progress for a front that does not read is dropped past this many bytes. */
const MAX_UNREAD_BYTES = 1_048_576;
/** No further requests are read from a front that leaves more than this of its answers unread. */
const MAX_WAITING_BYTES = 16 * 1_048_576;
/** It is cut off when the answers to its earlier requests add up to more than this. */
const MAX_UNSENT_BYTES = 256 * 1_048_576;

const sendError = (response: ServerResponse, error: LlmcError): void => {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(ERROR_TABLE[error.code].status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: toWireError(error) }));
};

interface Body {
  readonly bytes: Buffer;
  /** Counts memory that it takes beyond its bytes; throws if all requests together would hold too much. */
  readonly reserve: (bytes: number) => void;
  /** To be called once, when nothing of it is needed any more. */
  readonly free: () => void;
}

/** One request of a stream; whatever it comes to is sent with its number. */
const serveRequest = (
  parts: LinkServerParts,
  front: string,
  { bytes, reserve, free }: Body,
  send: (line: string, isLast: boolean) => void,
): (() => void) => {
  let hasBegun = false;
  // One that joins another, or is refused, has no work of its own.
  using _ = {
    [Symbol.dispose]: () => {
      if (!hasBegun) free();
    },
  };
  const { request, extraBytes } = parseLinkRequest(bytes);
  reserve(extraBytes);
  const { n, round, generation, work } = request;
  const run = async (signal: AbortSignal, emit: (line: string) => void): Promise<string> => {
    hasBegun = true;
    try {
      return await perform(parts, request, signal, (line: WireLine) => emit(JSON.stringify(line)));
    } finally {
      free();
    }
  };
  if (n === UNNUMBERED) {
    if (work.method !== "listTools" && work.method !== "resources")
      throw new LlmcError("invalid_args", "The request has no number.");
    void run(new AbortController().signal, () => {}).then((line) => send(line, true));
    return () => {};
  }
  const isRepeatable = work.method !== "call" || parts.core.effectOf(work.tool) === "read";
  const refuse = (error: LlmcError): string => JSON.stringify(refusalLine(request, error));
  const digest = hash("sha256", JSON.stringify(work));
  return parts.table.begin({ n, round, generation, front, work: digest, isRepeatable, run, refuse }, send);
};

/** Requests that share a connection. When it breaks, nothing is heard any more, and nothing ends. */
const serveStream = (parts: LinkServerParts, open: ByteBudget, socket: Duplex): void => {
  const listening = new Set<() => void>();
  /** Bytes that have come and belong to no request yet. */
  let unread = 0;
  const front = parts.frontOf(socket);
  const write = (frame: Buffer): void => {
    socket.write(frame);
    if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy();
    else if (socket.writableLength > MAX_WAITING_BYTES) socket.pause();
  };
  const answer = (stream: number, payload: Buffer): void => {
    let held = HEAD_BYTES + payload.length;
    unread -= held;
    const body: Body = {
      bytes: payload,
      reserve: (bytes) => {
        open.take(bytes);
        held += bytes;
      },
      free: () => open.give(held),
    };
    let stop: (() => void) | undefined;
    let isDone = false;
    const send = (line: string, isLast: boolean): void => {
      isDone ||= isLast;
      if (isLast && stop !== undefined) listening.delete(stop);
      if (isLast || socket.writableLength < MAX_UNREAD_BYTES) write(encodeFrame(stream, line));
    };
    try {
      stop = serveRequest(parts, front, body, send);
      if (!isDone) listening.add(stop);
    } catch (thrown) {
      refuse(stream, toLlmcError(thrown));
    }
  };
  const refuse = (stream: number, error: LlmcError): void => {
    parts.onRefused(error.message);
    write(encodeFrame(stream, JSON.stringify({ error: toWireError(error) }), "refused"));
  };
  const read = createFrameReader({
    maxBytes: parts.maxBodyBytes,
    onFrame: answer,
    onOversize: (stream) => refuse(stream, new LlmcError("file_too_large", "The request is too large.")),
    onSkipped: (bytes) => {
      unread -= bytes;
      open.give(bytes);
    },
    onMalformed: () => {
      parts.onRefused("a frame of the link is malformed");
      socket.destroy();
    },
  });
  socket.on("data", (chunk: Buffer) => {
    try {
      open.take(chunk.length);
    } catch (thrown) {
      parts.onRefused(toLlmcError(thrown).message);
      socket.destroy();
      return;
    }
    unread += chunk.length;
    read(chunk);
  });
  socket.on("drain", () => socket.resume());
  socket.on("error", () => socket.destroy());
  // Sockets of an HTTP server stay half open otherwise, with what they have sent.
  socket.on("end", () => socket.destroy());
  socket.on("close", () => {
    open.give(unread);
    unread = 0;
    for (const stop of listening) stop();
    listening.clear();
  });
};

/** Each front follows what changes by one stream: another one takes the place of the one before, and its connection ends. */
const createEventStreams = ({ events, snapshot, frontOf }: LinkServerParts) => {
  const streams = new Map<string, Socket>();
  return ({ socket }: IncomingMessage, url: URL, response: ServerResponse): void => {
    const front = frontOf(socket);
    streams.get(front)?.destroy();
    // Both were asked for on the same connection.
    if (socket.destroyed) return;
    streams.set(front, socket);
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    const heartbeat = setInterval(() => response.write("\n"), HEARTBEAT_MS).unref();
    const send = (event: WireEvent): void => {
      response.write(`${JSON.stringify(event)}\n`);
      // It can begin again where it stopped reading.
      if (response.writableLength > MAX_WAITING_BYTES) socket.destroy();
    };
    send({ snapshot: snapshot() });
    const after = url.searchParams.get("after");
    const stop = events.follow(after !== null && /^\d{1,15}$/.test(after) ? Number(after) : undefined, send);
    // Of the connection: an answer that waits behind another one's has none, and never closes.
    socket.once("close", () => {
      clearInterval(heartbeat);
      stop();
      if (streams.get(front) === socket) streams.delete(front);
    });
  };
};

const route = async (
  parts: LinkServerParts,
  open: ByteBudget,
  serveEvents: ReturnType<typeof createEventStreams>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const url = new URL(request.url ?? "/", "http://link");
  const endpoint = `${request.method} ${url.pathname}`;
  const body = () => readBodyWithin(open, request, parts.maxBodyBytes());
  switch (endpoint) {
    case `GET ${HELLO_PATH}`: {
      const greeting: CoreGreeting = { schema: schemaText(), connections: parts.connections() };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(greeting));
      return;
    }
    case "GET /v1/events":
      serveEvents(request, url, response);
      return;
    case "POST /v1/cancel":
      parts.table.cancel(parseCancel(await body()).n);
      response.writeHead(204).end();
      return;
    case "POST /v1/log":
      for (const entry of parseLog(await body()).entries)
        if ("kind" in entry) parts.onRefused(entry.message, entry.count);
        else parts.onLog(entry.level, entry.message);
      response.writeHead(204).end();
      return;
    default:
      throw new LlmcError("resource_not_found", "The link has no such endpoint.");
  }
};

/** The core's end of the link. The caller passes it connections: it does not listen. */
export const createLinkServer = (parts: LinkServerParts): Server => {
  const open = createByteBudget(parts.maxOpenBytes ?? MAX_OPEN_BYTES);
  const serveEvents = createEventStreams(parts);
  return createSocketServer({
    token: parts.token,
    needsSchema: true,
    ...(parts.maxRequestMs === undefined ? {} : { maxRequestMs: parts.maxRequestMs }),
    checkPeer: (socket) => {
      if (!parts.admitConnection(socket))
        throw new LlmcError("forbidden", "This process is not the server's front.");
    },
    answer: async (request, response) => {
      response.setHeader("x-llmc-generation", parts.generation);
      await route(parts, open, serveEvents, request, response);
    },
    sendError: (_request, response, error) => {
      parts.onRefused(error.message);
      sendError(response, error);
    },
    upgrade: {
      path: STREAM_PATH,
      protocol: STREAM_PROTOCOL,
      serve: (socket) => serveStream(parts, open, socket),
    },
  });
};
