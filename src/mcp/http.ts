import {
  createMcpHandler,
  type HandleRequestOptions,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { failedAnswer, refuseShape } from "./frames.ts";
import { refuseParamHeaders } from "./param-headers.ts";
import { createMcpServer, type McpParts } from "./server.ts";
import { createSessions, NOBODY } from "./sessions.ts";

interface McpHttpParts extends McpParts {
  readonly newId: () => string;
  readonly now: () => number;
}

/** What a client's answer to a question comes to if it is none that can be read. */
const failedAnswerIn = (body: unknown): ReturnType<typeof failedAnswer> =>
  isJSONRPCResultResponse(body) || isJSONRPCErrorResponse(body) ? undefined : failedAnswer(refuseShape(body));

/** A web-standard handler for `/mcp`: stateless for 2026 clients, with sessions for 2025 ones. */
export const createMcpHttp = (parts: McpHttpParts) => {
  const sessions = createSessions(parts);
  const modern = createMcpHandler(
    ({ era, authInfo }) =>
      createMcpServer(
        parts,
        {
          transport: "http",
          principal: NOBODY,
          id: parts.newId(),
          may: new Set(),
          authInfo,
          newCorrelationId: parts.newId,
        },
        era,
      ),
    { legacy: "reject", onerror: parts.onError },
  );
  const stops = [
    parts.core.onListChanged((kind) => {
      if (kind === "tools") modern.notify.toolsChanged();
      else if (kind === "prompts") modern.notify.promptsChanged();
      else modern.notify.resourcesChanged();
    }),
    parts.core.onResourceUpdated((uri) => modern.notify.resourceUpdated(uri)),
  ];
  return {
    fetch: async (request: Request, options: HandleRequestOptions = {}): Promise<Response> => {
      const failed = failedAnswerIn(options.parsedBody);
      if (failed !== undefined && request.headers.has("mcp-session-id")) {
        const response = await sessions.handle(request, { ...options, parsedBody: failed });
        if (!response.ok) return response;
      } else if (await isLegacyRequest(request, options.parsedBody)) return sessions.handle(request, options);
      return (
        (await refuseParamHeaders(() => parts.core.listTools(), options.parsedBody, request.headers)) ??
        modern.fetch(request, options)
      );
    },
    /** Ends the sessions of a revoked token, with everything that runs in them. */
    dropSessionsOf: sessions.dropAllOf,
    close: async (): Promise<void> => {
      for (const stop of stops) stop();
      sessions.close();
      await modern.close();
    },
  };
};
