import { type HandleRequestOptions, isInitializeRequest } from "@modelcontextprotocol/server";
import { createEventStores } from "./event-store.ts";
import { principalOf } from "./origin.ts";
import { createMcpServer, type McpParts } from "./server.ts";
import { createSessionTable, type Session } from "./session-table.ts";
import { SessionTransport } from "./session-transport.ts";

interface SessionParts extends McpParts {
  readonly newId: () => string;
  readonly now: () => number;
}

/** Principal of requests without an identity, which the HTTP server never passes on. */
export const NOBODY = "nobody";
/** After this time clients whose stream we closed should reconnect. */
const RETRY_MS = 500;

/** What the library reports of a client that listens again while it still listens. */
const SECOND_STREAM = /^Conflict: (?:Only one SSE stream|Stream already has an active connection)/;

const refuse = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });

/** Headers are sent with the first bytes of a body, so a stream starts with a comment. */
const OPENING = new TextEncoder().encode(": open\n\n");

/**
 * Forwards the body and reports when it ends or the client is gone. The SDK by itself notices a lost connection only at
 * its next write, and until then refuses the client that reconnects.
 */
const follow = (response: Response, gone: AbortSignal, ended: () => void): Response => {
  if (response.body === null) {
    ended();
    return response;
  }
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => {
      if (isStream) controller.enqueue(OPENING);
    },
  });
  void response.body
    .pipeTo(writable, { signal: gone })
    .catch(() => {})
    .finally(ended);
  return new Response(readable, response);
};

/** Sessions of 2025-era clients; the 2026 revision has none. */
export const createSessions = (parts: SessionParts) => {
  const table = createSessionTable(parts.now);
  const openEvents = createEventStores();

  const open = async (owner: string, authInfo: HandleRequestOptions["authInfo"]): Promise<Session> => {
    const events = openEvents(owner);
    const transport = new SessionTransport({
      sessionIdGenerator: parts.newId,
      eventStore: events,
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => table.add(id, session),
      onsessionclosed: (id) => table.remove(id),
    });
    transport.onclose = events.clear;
    const session: Session = { owner, transport, events, lastUsedMs: parts.now(), active: 0 };
    const connection = {
      transport: "http",
      principal: NOBODY,
      id: parts.newId(),
      may: new Set<string>(),
      authInfo,
      newCorrelationId: parts.newId,
    } as const;
    const onError = (error: Error): void => {
      // The client is answered 409, and its first stream goes on: nobody has to look into that.
      if (!SECOND_STREAM.test(error.message)) parts.onError(error);
    };
    await createMcpServer({ ...parts, onError }, connection, "legacy").connect(transport);
    return session;
  };

  /** Handles the first request of a session. */
  const begin = async (owner: string, request: Request, options: HandleRequestOptions): Promise<Response> => {
    if (!isInitializeRequest(options.parsedBody))
      return refuse(400, -32000, "A session id is required: send initialize first.");
    if (!table.makeRoom(owner)) return refuse(503, -32000, "Too many sessions are open: try again later.");
    table.countOpening(owner, 1);
    try {
      const session = await open(owner, options.authInfo);
      const response = await handle(session, request, options);
      // The SDK refused the request and created no session, so nobody else would close the transport.
      if (session.transport.sessionId === undefined) void session.transport.close();
      return response;
    } finally {
      table.countOpening(owner, -1);
    }
  };

  const handle = async (
    session: Session,
    request: Request,
    options: HandleRequestOptions,
  ): Promise<Response> => {
    const ended = (): void => {
      session.active--;
      session.lastUsedMs = parts.now();
    };
    session.active++;
    try {
      return follow(await session.transport.handleRequest(request, options), request.signal, ended);
    } catch (error) {
      ended();
      throw error;
    }
  };

  return {
    handle: async (request: Request, options: HandleRequestOptions): Promise<Response> => {
      const owner = principalOf(options.authInfo) ?? NOBODY;
      const id = request.headers.get("mcp-session-id");
      if (id === null) return begin(owner, request, options);
      const session = table.find(id, owner);
      if (session === undefined) return refuse(404, -32001, "Session not found: initialize a new one.");
      const lastEvent = request.method === "GET" ? request.headers.get("last-event-id") : null;
      if (lastEvent !== null && (await session.events.getStreamIdForEventId(lastEvent)) === undefined)
        return refuse(400, -32000, "The events after this one are no longer kept: ask again.");
      return handle(session, request, options);
    },
    dropAllOf: table.dropAllOf,
    close: table.dropAll,
  };
};
