import {
  type HandleRequestOptions,
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { EFFECTS } from "../core/contract.ts";
import { createEventStore } from "./event-store.ts";
import { createMcpServer, type McpParts } from "./server.ts";

interface SessionParts extends McpParts {
  readonly newId: () => string;
  readonly now: () => number;
}

interface Session {
  /** Name of the token that opened it; nobody else finds it. */
  readonly owner: string | undefined;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  lastUsedMs: number;
  /** Requests under way and streams open: such a session is not idle. */
  active: number;
}

/** A client that went away without a word holds its session no longer than this. */
const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 1000;
/** Suggested to clients whose stream was closed on purpose, in milliseconds. */
const RETRY_MS = 500;

const refuse = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });

/** Headers leave with the first bytes of a body: a stream that has nothing to say yet starts with a comment. */
const OPENING = new TextEncoder().encode(": open\n\n");

/**
 * Passes the body on until it ends or the client is gone, and then says so. Left alone, the SDK notices a lost
 * connection at its next write only, and refuses the client that comes back before.
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
  const sessions = new Map<string, Session>();

  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    void session?.transport.close();
  };

  const dropIdle = (): void => {
    const oldest = parts.now() - IDLE_MS;
    for (const [id, session] of sessions) if (session.active === 0 && session.lastUsedMs < oldest) drop(id);
  };

  const open = async (owner: string | undefined): Promise<Session> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: parts.newId,
      eventStore: createEventStore(),
      retryInterval: RETRY_MS,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const session: Session = { owner, transport, lastUsedMs: parts.now(), active: 0 };
    const connection = {
      transport: "http",
      id: parts.newId(),
      may: new Set<string>(EFFECTS),
      newCorrelationId: parts.newId,
    } as const;
    await createMcpServer(parts, connection, "legacy").connect(transport);
    return session;
  };

  const find = async (
    request: Request,
    { parsedBody, authInfo }: HandleRequestOptions,
  ): Promise<Session | Response> => {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const session = sessions.get(id);
      if (session !== undefined && session.owner === authInfo?.clientId) return session;
      return refuse(404, -32001, "Session not found: initialize a new one.");
    }
    if (!isInitializeRequest(parsedBody))
      return refuse(400, -32000, "A session id is required: send initialize first.");
    dropIdle();
    if (sessions.size >= MAX_SESSIONS)
      return refuse(503, -32000, "Too many sessions are open: try again later.");
    return open(authInfo?.clientId);
  };

  return {
    handle: async (request: Request, options: HandleRequestOptions): Promise<Response> => {
      const session = await find(request, options);
      if (session instanceof Response) return session;
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
    },
    close: (): void => {
      for (const id of [...sessions.keys()]) drop(id);
    },
    count: () => sessions.size,
  };
};
