import { createMcpHandler, type HandleRequestOptions, isLegacyRequest } from "@modelcontextprotocol/server";
import { refuseParamHeaders } from "./param-headers.ts";
import { createMcpServer, type McpParts } from "./server.ts";
import { createSessions, NOBODY } from "./sessions.ts";

interface McpHttpParts extends McpParts {
  readonly newId: () => string;
  readonly now: () => number;
}

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
      if (await isLegacyRequest(request, options.parsedBody)) return sessions.handle(request, options);
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
