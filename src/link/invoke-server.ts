import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { givenCorrelationId } from "../base/correlation-id.ts";
import { LlmcError, renderForInvoke } from "../base/error.ts";
import { ERROR_TABLE } from "../base/error-table.ts";
import { parseGuardedBytes } from "../base/json-guard.ts";
import { cleanName } from "../base/text.ts";
import { EFFECTS, LOCAL } from "../core/contract.ts";
import type { Core } from "../core/core.ts";
import type { Origin } from "../core/origin.ts";
import { headerOf } from "./header-of.ts";
import { invoke } from "./invoke.ts";
import { readBody } from "./read-body.ts";
import { createSocketServer } from "./socket-server.ts";

interface InvokeServerParts {
  readonly core: Core;
  /** Of this start; the operator's programs read it from a file that only this user can read. */
  readonly token: string;
  /** Whether the process at the other end runs as this user; asked once per connection. */
  readonly isOwnUser: (socket: Socket) => boolean;
  readonly newId: () => string;
  /** The time of day, as ISO 8601. */
  readonly timestamp: () => string;
  readonly maxBodyBytes: () => number;
  readonly onRefused: (reason: "auth" | "forbidden" | "malformed", detail: string) => void;
}

const MAX_CONNECTIONS = 64;
const ALL_EFFECTS: ReadonlySet<string> = new Set(EFFECTS);

/** Programs of the user are the user, as over stdio; what they call themselves are labels. */
const originOf = (
  { core }: InvokeServerParts,
  headers: IncomingHttpHeaders,
  requestId: string,
  signal: AbortSignal,
  sessionId: string,
): Origin => {
  const { defaultAgentId, defaultModel, defaultBudgetProfile } = core.settings();
  return {
    caller: {
      agentId: cleanName(headerOf(headers, "x-llmc-agent") ?? defaultAgentId),
      sessionId: cleanName(sessionId),
      model: cleanName(headerOf(headers, "x-llmc-model") ?? defaultModel),
      budgetProfile: cleanName(headerOf(headers, "x-llmc-budget-profile") ?? defaultBudgetProfile),
      transport: "socket",
      principal: LOCAL,
      owner: "socket",
      may: ALL_EFFECTS,
    },
    correlationId: requestId,
    route: "/invoke",
    signal,
    traceparent: headerOf(headers, "traceparent"),
  };
};

const reasonOf = ({ code }: LlmcError): "auth" | "forbidden" | "malformed" => {
  if (code === "auth_failed") return "auth";
  return code === "forbidden" ? "forbidden" : "malformed";
};

const send = (response: ServerResponse, status: number, body: object): void => {
  if (response.headersSent) return;
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify(body));
};

/** `POST /invoke` on a Unix socket, for other programs of the same user. The caller opens the socket. */
export const createInvokeServer = (parts: InvokeServerParts): Server => {
  const ids = new WeakMap<IncomingMessage, string>();
  const called = new WeakSet<IncomingMessage>();
  const idOf = (request: IncomingMessage): string => {
    const id = ids.get(request) ?? givenCorrelationId(request.headers["x-request-id"]) ?? parts.newId();
    ids.set(request, id);
    return id;
  };
  const server = createSocketServer({
    token: parts.token,
    needsSchema: false,
    checkPeer: (socket) => {
      if (!parts.isOwnUser(socket))
        throw new LlmcError("forbidden", "This socket is for programs of the server's own user.");
    },
    answer: async (request, response) => {
      if (request.url?.split("?", 1)[0] !== "/invoke" || request.method !== "POST")
        throw new LlmcError("resource_not_found", "This socket serves POST /invoke alone.");
      const left = new AbortController();
      response.once("close", () => left.abort());
      const body = parseGuardedBytes(await readBody(request, parts.maxBodyBytes()));
      const from = (sessionId: string): Origin => {
        called.add(request);
        return originOf(parts, request.headers, idOf(request), left.signal, sessionId);
      };
      send(response, 200, await invoke(parts.core, body, from));
    },
    sendError: (request, response, error, isAdmitted) => {
      // What became of a call is in its own record.
      if (!isAdmitted || !called.has(request)) parts.onRefused(reasonOf(error), error.message);
      const body = renderForInvoke(error, idOf(request), parts.timestamp());
      send(response, ERROR_TABLE[error.code].status, body);
    },
  });
  server.maxConnections = MAX_CONNECTIONS;
  return server;
};
