import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { LlmcError } from "../base/error.ts";
import type { CallResult } from "../core/call.ts";
import { QuestionsAsked } from "../core/contract.ts";
import type { Core, ListKind } from "../core/core.ts";
import type { Origin } from "../core/guard.ts";
import { complete } from "./completion.ts";
import { type Connection, originOf } from "./origin.ts";
import { askClient, type StateCodec } from "./questions.ts";

export interface McpParts {
  readonly core: Core;
  readonly version: string;
  readonly codec: StateCodec;
}

/** Lists change when the configuration does; then clients are told. Until then they may keep what they have. */
const CACHE = { ttlMs: 300_000, cacheScope: "private" } as const;

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const renderResult = (
  result: Exclude<CallResult, { kind: "questions" }>,
  withStructured: boolean,
): CallToolResult => {
  if (result.kind === "error") {
    return {
      isError: true,
      content: [{ type: "text", text: JSON.stringify(result.body) }],
      ...(withStructured ? { structuredContent: result.body } : {}),
    };
  }
  return {
    content: [...result.content] as CallToolResult["content"],
    ...(withStructured && isRecord(result.structured) ? { structuredContent: result.structured } : {}),
  };
};

/** Errors of requests that are no tool calls are protocol errors; tool failures are results that the model reads. */
const toProtocolError = (error: LlmcError, uri?: string): Error => {
  const text = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  if (error.code === "resource_not_found" && uri !== undefined) return new ResourceNotFoundError(uri, text);
  const isCallersFault =
    error.code === "invalid_args" || error.code === "unknown_tool" || error.code === "resource_not_found";
  return new ProtocolError(
    isCallersFault ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
    text,
  );
};

const NOTIFY: Readonly<Record<ListKind, (server: Server) => Promise<void>>> = {
  tools: (server) => server.sendToolListChanged(),
  prompts: (server) => server.sendPromptListChanged(),
  resources: (server) => server.sendResourceListChanged(),
};

/** One MCP server instance over the core: for a connection (stdio), a session or a single request (HTTP). */
export const createMcpServer = (
  { core, version, codec }: McpParts,
  connection: Connection,
  era: "legacy" | "modern",
): Server => {
  const server = new Server(
    { name: "llmc", version },
    {
      capabilities: CAPABILITIES,
      instructions: core.instructions(),
      cacheHints: {
        "tools/list": CACHE,
        "prompts/list": CACHE,
        "resources/list": CACHE,
        "resources/templates/list": CACHE,
        "server/discover": CACHE,
      },
      requestState: { verify: codec.verify },
    },
  );
  const subscribed = new Set<string>();
  const origin = (context: ServerContext): Origin =>
    originOf(core, connection, context, server.getClientVersion()?.name);

  /** Runs a request that is no tool call: its failures become protocol errors, its questions go to the client. */
  const serve = async <T>(context: ServerContext, uri: string | undefined, work: () => Promise<T>) => {
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof QuestionsAsked) return askClient(thrown, codec, context);
      throw thrown instanceof LlmcError ? toProtocolError(thrown, uri) : thrown;
    }
  };

  server.setRequestHandler("tools/list", () => ({ tools: [...core.listTools()] }) as never);

  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const result = await core.call({ ...origin(context), tool: params.name, args: params.arguments });
    if (result.kind === "questions") return askClient(result, codec, context);
    if (result.kind === "error" && result.error.code === "unknown_tool") throw toProtocolError(result.error);
    return renderResult(result, core.sendsStructured());
  });

  server.setRequestHandler("resources/list", async () => ({
    resources: (await core.resources()).map(({ read: _read, ...resource }) => resource),
  }));

  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: core.templates().map(({ read: _read, complete: _complete, ...template }) => template),
  }));

  server.setRequestHandler("resources/read", ({ params: { uri } }, context) =>
    serve(context, uri, async () => ({ contents: [await core.readResource(uri, origin(context))] })),
  );

  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    subscribed.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });

  server.setRequestHandler("prompts/list", () => ({
    prompts: core.prompts().map(({ get: _get, arguments: args, ...prompt }) => ({
      ...prompt,
      ...(args === undefined
        ? {}
        : { arguments: args.map(({ complete: _complete, ...argument }) => argument) }),
    })),
  }));

  server.setRequestHandler("prompts/get", ({ params }, context) =>
    serve(context, undefined, async () => ({
      messages: [...(await core.getPrompt(params.name, params.arguments ?? {}, origin(context)))] as never,
    })),
  );

  server.setRequestHandler("completion/complete", ({ params }) => complete(core, params));

  // A server that lives for one request has nobody to tell; the handler that made it tells its subscribers itself.
  if (connection.transport === "http" && era === "modern") return server;

  // In the 2026 revision the SDK keeps the subscriptions and filters what is sent here.
  const isWanted = (uri: string): boolean => era === "modern" || subscribed.has(uri);
  const stops = [
    core.onListChanged((kind) => void NOTIFY[kind](server).catch(() => {})),
    core.onResourceUpdated((uri) => {
      if (isWanted(uri)) void server.sendResourceUpdated({ uri }).catch(() => {});
    }),
  ];
  server.onclose = () => {
    for (const stop of stops) stop();
  };
  return server;
};
