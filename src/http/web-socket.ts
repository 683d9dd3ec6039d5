import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { LlmcError, renderForHttp, toLlmcError } from "../base/error.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import { validateArguments } from "../core/validate.ts";
import { addressOf, type Proxies } from "./address.ts";
import { payloadOf } from "./answer.ts";
import { toolBody } from "./bodies.ts";
import type { Door } from "./door.ts";
import { progressData, type StreamEvent } from "./event-stream.ts";
import { originOf } from "./origin.ts";
import { rawRefusal } from "./refusals.ts";
import type { Identity } from "./tokens.ts";
import type { Visit, Visits } from "./visits.ts";

interface SocketParts {
  readonly server: Server;
  readonly visits: Visits;
  readonly maxRequestBytes: number;
  readonly newId: () => string;
  readonly proxies: Proxies;
}

const PATH = "/ws";
/** A peer that is silent for twice as long is gone. */
const PING_MS = 30_000;
/** Connections that one token may have open. */
const MAX_SOCKETS_EACH = 64;
/** Policy violation (RFC 6455, 7.4.1). */
const TOKEN_LOST = 1008;
/** Calls that one connection may have under way, waiting ones included. */
const MAX_CALLS = 64;
/** How long a peer has to answer a close frame. */
const CLOSE_MS = 500;
/** Unsent bytes beyond which progress is not worth adding to. */
const BACKLOG_BYTES = 1_048_576;

const id = z.union([z.string().min(1).max(64), z.int()]);
const callMessage = toolBody.extend({ id });
const cancelMessage = z.strictObject({ id, cancel: z.literal(true) });

const isCancel = (message: unknown): boolean =>
  typeof message === "object" && message !== null && "cancel" in message;

const idIn = (message: unknown): unknown => {
  const given = typeof message === "object" && message !== null && "id" in message ? message.id : null;
  return id.safeParse(given).success ? given : null;
};

const bytesOf = (data: RawData): Uint8Array =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data;

/**
 * One connection: `{id, session_id, name, args}` comes in, `{id, event, data}` goes out, with the events of a streamed
 * `/tool`. `{id, cancel: true}` ends a call; so does the end of the connection.
 */
const serveSocket = (
  door: Door,
  parts: SocketParts,
  socket: WebSocket,
  request: IncomingMessage,
  opened: Identity,
): void => {
  const running = new Map<unknown, Visit>();
  let isAlive = true;

  const send = (to: unknown, event: StreamEvent, data: unknown): void => {
    if (socket.readyState !== socket.OPEN) return;
    if (event === "progress" && socket.bufferedAmount > BACKLOG_BYTES) return;
    socket.send(JSON.stringify({ id: to, event, data }));
  };

  const call = async (message: z.infer<typeof callMessage>, visit: Visit, correlationId: string) => {
    door.admission.checkDraining();
    // Asked with every message: a connection may outlive a change of what its token is good for.
    const identity = door.admission.current(opened);
    visit.identity = identity;
    await door.admission.charge(identity);
    const origin = originOf(door.core.settings(), {
      identity,
      headers: request.headers,
      correlationId,
      sessionId: message.session_id,
      signal: visit,
      progress: async (...step) => send(message.id, "progress", progressData(...step)),
    });
    return door.lanes.run(identity.name, visit, () =>
      door.core.call({ ...origin, tool: message.name, args: message.args }),
    );
  };

  const start = async (given: unknown, correlationId: string): Promise<void> => {
    const message = (await validateArguments(callMessage, given)) as z.infer<typeof callMessage>;
    if (running.has(message.id)) throw new LlmcError("invalid_args", "A call with this id is under way.");
    if (running.size >= MAX_CALLS)
      throw new LlmcError("busy", "Too many calls are under way on this connection.");
    const visit = parts.visits.begin();
    running.set(message.id, visit);
    try {
      send(message.id, "result", payloadOf(await call(message, visit, correlationId)));
    } finally {
      running.delete(message.id);
      visit.end(false);
    }
  };

  const receive = async (data: RawData): Promise<void> => {
    const correlationId = parts.newId();
    let message: unknown;
    try {
      message = parseGuardedBytes(bytesOf(data));
      if (!isCancel(message)) return await start(message, correlationId);
      const { id: cancelled } = (await validateArguments(cancelMessage, message)) as z.infer<
        typeof cancelMessage
      >;
      running.get(cancelled)?.end(true);
    } catch (thrown) {
      const error = toLlmcError(thrown);
      if (error.code === "internal_error" && error !== thrown) door.onInternalError(error, correlationId);
      send(idIn(message), "error", renderForHttp(error, correlationId));
    }
  };

  const heartbeat = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, PING_MS);
  socket.on("pong", () => {
    isAlive = true;
  });
  socket.on("message", (data) => void receive(data));
  // A frame that is too large or broken: the library closes the connection with the right code.
  socket.on("error", () => {});
  const leave = door.standings.add({
    identity: opened,
    end: () => {
      for (const visit of running.values()) visit.end(true);
      socket.close(TOKEN_LOST, "the token is no longer in force");
      // A peer that does not answer the close frame is not waited for.
      setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    },
  });
  socket.on("close", () => {
    leave();
    clearInterval(heartbeat);
    for (const visit of running.values()) visit.end(true);
  });
};

/** Adds the WebSocket to the listener; returns the function that ends all of them. */
export const addWebSocket = (door: Door, parts: SocketParts): (() => void) => {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: parts.maxRequestBytes,
    perMessageDeflate: false,
  });

  /** Connections by principal. */
  const openOf = new Map<string, number>();

  const count = (principal: string, by: 1 | -1): void => {
    const left = (openOf.get(principal) ?? 0) + by;
    if (left === 0) openOf.delete(principal);
    else openOf.set(principal, left);
  };

  const admit = async (request: IncomingMessage, stream: Duplex): Promise<Identity> => {
    const { admission } = door;
    admission.checkDraining();
    admission.checkPlace(request);
    const identity = admission.identify(request.headers, addressOf(request, parts.proxies));
    await admission.charge(identity);
    if (request.url?.split("?", 1)[0] !== PATH)
      throw new LlmcError("resource_not_found", `WebSockets are served at ${PATH}.`);
    if ((openOf.get(identity.principal) ?? 0) >= MAX_SOCKETS_EACH) {
      throw new LlmcError("rate_limited", "Too many WebSockets are open with this token.", {
        hint: "Use one connection for several calls.",
      });
    }
    if (stream.destroyed) throw new LlmcError("cancelled", "The client has gone.");
    count(identity.principal, 1);
    stream.once("close", () => count(identity.principal, -1));
    // Its token may have been taken away meanwhile.
    return admission.current(identity);
  };

  parts.server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const onError = (): void => void stream.destroy();
    stream.on("error", onError);
    void admit(request, stream).then(
      (identity) => {
        stream.off("error", onError);
        sockets.handleUpgrade(request, stream, head, (socket) =>
          serveSocket(door, parts, socket, request, identity),
        );
      },
      (thrown) => stream.end(rawRefusal(thrown, parts.newId())),
    );
  });

  return () => {
    for (const socket of sockets.clients) socket.close(1001, "the server is stopping");
    sockets.close();
  };
};
