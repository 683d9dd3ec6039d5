import type { IncomingHttpHeaders, IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { LlmcError, renderForHttp, toLlmcError } from "../../base/error.ts";
import { payloadOf } from "../../core/payload.ts";
import { validateArguments } from "../../core/validate.ts";
import type { Identity } from "../auth/token-registry.ts";
import { renderRawError } from "../requests/errors.ts";
import { progressData, type StreamEvent } from "../requests/event-stream.ts";
import type { InFlightRequest } from "../requests/in-flight.ts";
import type { HttpInput } from "../requests/input.ts";
import { bytesOf } from "../requests/message-bytes.ts";
import { correlationIdOf, originOf } from "../requests/origin.ts";
import { countUnfinished, TOO_MANY_UNFINISHED } from "../requests/unfinished-messages.ts";
import { toolBody } from "./bodies.ts";
import { identityOf, type RouteContext } from "./context.ts";
import { serveControlFrames, UNFINISHED_LIMITS } from "./web-socket-control.ts";
import { createSocketShares, type SocketShares } from "./web-socket-shares.ts";

interface SocketParts {
  readonly server: Server;
  readonly maxRequestBytes: number;
  readonly input: HttpInput;
}

const PATH = "/ws";
/** RFC 6455, 7.4.1. */
const POLICY_VIOLATION = 1008;
/** Calls that one connection may have running or waiting. */
const MAX_CALLS = 64;
/** How long a client has to answer a close frame. */
const CLOSE_MS = 500;
/** With more unsent bytes than this, progress and answers to pings are left out. */
const BACKLOG_BYTES = 1_048_576;
/** With more unsent bytes than this, the client is not reading: its connection ends, so that answers do not pile up. */
const MAX_BACKLOG_BYTES = 4 * BACKLOG_BYTES;
/** Try again later (RFC 6455, 7.4.1 and the registry of IANA). */
const TRY_AGAIN_LATER = 1013;

/** A larger message is read only after it was counted. Smaller ones are read first: one that cancels a call is never refused. */
const MAX_UNCOUNTED_BYTES = 4096;

const id = z.union([z.string().min(1).max(64), z.int()]);
const callMessage = toolBody.extend({ id });
const cancelMessage = z.strictObject({ id, cancel: z.literal(true) });

type CallMessage = z.infer<typeof callMessage>;

/** One open WebSocket. */
interface Session {
  readonly socket: WebSocket;
  readonly headers: IncomingHttpHeaders;
  /** Who opened it. Every message is authorized again, because the token may change meanwhile. */
  readonly identity: Identity;
  /** Calls by the id that the client gave them. */
  readonly calls: Map<unknown, InFlightRequest>;
  readonly read: HttpInput["readMessage"];
  readonly shares: SocketShares;
}

/** One message. */
interface Receipt {
  readonly correlationId: string;
  /** Whether it was counted against the rate limit of its token. */
  isCounted: boolean;
}

const isCancel = (message: unknown): boolean =>
  typeof message === "object" && message !== null && "cancel" in message;

const idIn = (message: unknown): unknown => {
  const given = typeof message === "object" && message !== null && "id" in message ? message.id : null;
  return id.safeParse(given).success ? given : null;
};

const abortCalls = ({ calls }: Session): void => {
  for (const call of calls.values()) call.end(true);
};

/** A client that does not take part in closing loses the connection, and what waits for it, a moment later. */
const endSession = (session: Session, code: number, reason: string): void => {
  const { socket } = session;
  abortCalls(session);
  socket.close(code, reason);
  setTimeout(() => socket.terminate(), CLOSE_MS).unref();
};

const send = (session: Session, to: unknown, event: StreamEvent, data: unknown): void => {
  const { socket } = session;
  if (socket.readyState !== socket.OPEN) return;
  if (event === "progress" && socket.bufferedAmount > BACKLOG_BYTES) return;
  // Looked at before the answer, so that one large answer to a client that reads is always sent.
  if (socket.bufferedAmount > MAX_BACKLOG_BYTES)
    endSession(session, TRY_AGAIN_LATER, "the client does not read its answers");
  else socket.send(JSON.stringify({ id: to, event, data }));
};

const call = async (
  { core, authorizer, concurrency }: RouteContext,
  session: Session,
  message: CallMessage,
  inFlight: InFlightRequest,
  receipt: Receipt,
): Promise<unknown> => {
  const identity = receipt.isCounted
    ? authorizer.refresh(session.identity)
    : await authorizer.authorizeMessage(session.identity, inFlight);
  receipt.isCounted = true;
  inFlight.identity = identity;
  const { signal } = inFlight;
  const origin = originOf(core.settings(), {
    identity,
    headers: session.headers,
    correlationId: receipt.correlationId,
    route: "websocket",
    sessionId: message.session_id,
    signal,
    mayNow: () => authorizer.scopesNow(identity),
    progress: async (...step) => send(session, message.id, "progress", progressData(...step)),
  });
  const { name: tool, args } = message;
  return payloadOf(
    await concurrency.run(
      identity.name,
      signal,
      () => core.call({ ...origin, tool, args }),
      origin.correlationId,
    ),
  );
};

const startCall = async (
  context: RouteContext,
  session: Session,
  given: unknown,
  receipt: Receipt,
): Promise<void> => {
  const message = (await validateArguments(callMessage, given)) as CallMessage;
  const { calls } = session;
  if (calls.has(message.id)) throw new LlmcError("invalid_args", "A call with this id is still running.");
  if (calls.size >= MAX_CALLS)
    throw new LlmcError("busy", "Too many calls are running or waiting on this connection.");
  const inFlight = context.inFlight.begin(receipt.correlationId);
  calls.set(message.id, inFlight);
  try {
    send(session, message.id, "result", await call(context, session, message, inFlight, receipt));
  } finally {
    calls.delete(message.id);
    inFlight.end(false);
  }
};

/** Counts a message that is no call, or is not read yet, against the rate limit of its token. */
const count = async (
  { authorizer, inFlight }: RouteContext,
  { identity }: Session,
  receipt: Receipt,
): Promise<void> => {
  receipt.isCounted = true;
  const counted = inFlight.begin(receipt.correlationId);
  try {
    await authorizer.authorizeMessage(identity, counted);
  } finally {
    counted.end(false);
  }
};

/** Whoever sends too many messages that never become calls is not answered any more. */
const countInvalid = async (context: RouteContext, session: Session, receipt: Receipt): Promise<void> => {
  try {
    await count(context, session, receipt);
  } catch (thrown) {
    if (toLlmcError(thrown).code === "rate_limited")
      endSession(session, POLICY_VIOLATION, "too many invalid messages");
  }
};

const receive = async (
  context: RouteContext,
  session: Session,
  data: RawData,
  isBinary: boolean,
): Promise<void> => {
  const correlationId = context.newId();
  const receipt: Receipt = { correlationId, isCounted: false };
  let message: unknown;
  try {
    const bytes = bytesOf(data);
    if (bytes.length > MAX_UNCOUNTED_BYTES) await count(context, session, receipt);
    message = session.read(bytes, isBinary);
    if (!isCancel(message)) return await startCall(context, session, message, receipt);
    const { id: cancelled } = (await validateArguments(cancelMessage, message)) as z.infer<
      typeof cancelMessage
    >;
    session.calls.get(cancelled)?.end(true);
  } catch (thrown) {
    if (!receipt.isCounted) await countInvalid(context, session, receipt);
    const error = toLlmcError(thrown);
    if (error.code === "rate_limited")
      session.shares.pause(session.socket, session.identity.principal, error);
    if (error.code === "internal_error" && error !== thrown) context.onInternalError(error, correlationId);
    send(session, idIn(message), "error", renderForHttp(error, correlationId));
  }
};

/**
 * Serves one connection: `{id, session_id, name, args}` comes in, `{id, event, data}` goes out, with the events of a
 * streamed `/tool`. `{id, cancel: true}` ends a call; so does the end of the connection.
 */
const serveSocket = (context: RouteContext, session: Session): void => {
  const { socket, identity } = session;
  const stopPings = serveControlFrames(socket, {
    backlogBytes: BACKLOG_BYTES,
    onFlood: () => endSession(session, POLICY_VIOLATION, "too many pings and pongs"),
  });
  const forget = context.connections.add({
    identity,
    end: () => endSession(session, POLICY_VIOLATION, "the token was revoked or changed"),
  });
  socket.on("message", (data, isBinary) => void receive(context, session, data, isBinary));
  // For a frame that is too large or broken, the library closes the connection with the right code.
  socket.on("error", () => {});
  socket.on("close", () => {
    forget();
    stopPings();
    abortCalls(session);
  });
};

/** Adds the WebSocket to the listener; returns the function that closes all connections. */
export const addWebSocket = (context: RouteContext, parts: SocketParts): (() => void) => {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: parts.input.growth * parts.maxRequestBytes,
    ...UNFINISHED_LIMITS,
    perMessageDeflate: false,
    // The library would answer every ping, also those of a client that reads none of the answers.
    autoPong: false,
  });

  const shares = createSocketShares();

  const admit = async (
    request: IncomingMessage,
    stream: Duplex,
    inFlight: InFlightRequest,
  ): Promise<Identity> => {
    await context.authorizer.authorize(request, inFlight, {});
    const identity = identityOf(inFlight);
    if (request.url?.split("?", 1)[0] !== PATH)
      throw new LlmcError("resource_not_found", `WebSockets are served at ${PATH}.`);
    if (stream.destroyed) throw new LlmcError("cancelled", "The client has disconnected.");
    shares.open(identity.principal, stream);
    // The token may have been revoked while a shared rate limiter was asked.
    return context.authorizer.refresh(identity);
  };

  parts.server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const onError = (): void => void stream.destroy();
    stream.on("error", onError);
    const correlationId = correlationIdOf(request.headers) ?? context.newId();
    const inFlight = context.inFlight.begin(correlationId);
    void admit(request, stream, inFlight)
      .then(
        (identity) => {
          stream.off("error", onError);
          const { readMessage: read, unfinished } = parts.input;
          sockets.handleUpgrade(request, stream, head, (socket) => {
            const session = { socket, headers: request.headers, identity, calls: new Map(), read, shares };
            countUnfinished(socket, stream, unfinished, () =>
              endSession(session, TRY_AGAIN_LATER, TOO_MANY_UNFINISHED),
            );
            serveSocket(context, session);
          });
        },
        (thrown: unknown) => {
          const error = toLlmcError(thrown);
          if (error.code === "internal_error" && error !== thrown)
            context.onInternalError(error, correlationId);
          // Whoever was refused may not keep the connection: Node leaves it to us, even if the peer never hangs up.
          stream.end(renderRawError(error, correlationId), () => stream.destroy());
        },
      )
      .finally(() => inFlight.end(false));
  });

  return () => {
    for (const socket of sockets.clients) socket.close(1001, "the server is stopping");
    sockets.close();
  };
};
