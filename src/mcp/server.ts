import {
  type CallToolResult,
  type CompleteRequest,
  type CompleteResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { type CallResult, failedCall } from "../core/call.ts";
import { QuestionsAsked } from "../core/contract.ts";
import { type DoorCore, publishPrompt, withoutFunctions } from "../core/door-core.ts";
import type { Origin } from "../core/origin.ts";
import type { ListKind } from "../core/refresh.ts";
import { CAPABILITIES, SERVER_NAME } from "./capabilities.ts";
import { converse } from "./converse.ts";
import { type Connection, originOf, readerOf } from "./origin.ts";
import { type StateCodec, stateFor } from "./questions.ts";
import { TidyServer } from "./tidy-server.ts";

/** The limit of the protocol. */
const MAX_VALUES = 100;

/** Suggestions for the arguments of prompts and the variables of resource templates; custom modules provide them. */
const complete = async (
  core: DoorCore,
  { ref, argument }: CompleteRequest["params"],
  from: Origin,
): Promise<CompleteResult> => {
  const of = ref.type === "ref/prompt" ? { prompt: ref.name } : { template: ref.uri };
  const values = await core.suggest(of, argument.name, argument.value, from);
  return {
    completion: {
      values: values.slice(0, MAX_VALUES),
      total: values.length,
      hasMore: values.length > MAX_VALUES,
    },
  };
};

export interface McpParts {
  readonly core: DoorCore;
  readonly version: string;
  readonly codec: StateCodec;
  /** For the log: errors of the library, and unexpected ones. */
  readonly onError: (error: Error) => void;
}

/** Lists only change with the configuration, and then clients are notified; until then they may cache them. */
const CACHE = { ttlMs: 300_000, cacheScope: "private" } as const;

/** Subscriptions live as long as the connection, so their number and size are bounded. */
const MAX_SUBSCRIPTIONS = 1024;
const MAX_URI_CHARS = 2048;

const renderResult = (
  result: Exclude<CallResult, { kind: "questions" }>,
  withStructured: boolean,
): CallToolResult => {
  // Errors have no structured content: clients would check it against the output schema of the tool, and fail.
  if (result.kind === "error")
    return { isError: true, content: [{ type: "text", text: JSON.stringify(result.body) }] };
  return {
    content: [...result.content] as CallToolResult["content"],
    ...(withStructured && isRecord(result.structured) ? { structuredContent: result.structured } : {}),
  };
};

/** A failed tool call is a result that the model reads; other failed requests are protocol errors. */
const toProtocolError = (error: LlmcError, correlationId: string, uri?: string): Error => {
  const text = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  if (error.code === "resource_not_found" && uri !== undefined) return new ResourceNotFoundError(uri, text);
  const isCallersFault =
    error.code === "invalid_args" || error.code === "unknown_tool" || error.code === "resource_not_found";
  return new ProtocolError(
    isCallersFault ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
    text,
    { error_code: error.code, retryable: error.retryable, correlation_id: correlationId },
  );
};

const NOTIFY: Readonly<Record<ListKind, (server: Server) => Promise<void>>> = {
  tools: (server) => server.sendToolListChanged(),
  prompts: (server) => server.sendPromptListChanged(),
  resources: (server) => server.sendResourceListChanged(),
};

/** One server instance: what its request handlers share. */
interface Instance {
  readonly server: Server;
  readonly core: DoorCore;
  readonly codec: StateCodec;
  readonly era: "legacy" | "modern";
  /** `target` is the tool, prompt or resource that the request is about. */
  origin(context: ServerContext, target?: string): Origin;
}

/** Runs a request that is not a tool call: its failures become protocol errors. */
const serve = async <T>(
  { origin }: Instance,
  context: ServerContext,
  target: string | undefined,
  work: (from: Origin) => Promise<T>,
  uri?: string,
): Promise<T> => {
  const from = origin(context, target);
  try {
    return await work(from);
  } catch (thrown) {
    throw thrown instanceof LlmcError ? toProtocolError(thrown, from.correlationId, uri) : thrown;
  }
};

/** The same for a request that may ask the client questions. */
const serveAsking = async <T>(
  instance: Instance,
  context: ServerContext,
  target: string,
  work: (from: Origin) => Promise<T>,
  uri?: string,
): Promise<T> => {
  const attempt = async (from: Origin) => {
    try {
      return { kind: "ok" as const, value: await work(from) };
    } catch (thrown) {
      if (!(thrown instanceof QuestionsAsked)) throw thrown;
      return { kind: "questions" as const, questions: thrown.questions, state: thrown.state };
    }
  };
  const ended = await serve(
    instance,
    context,
    target,
    (from) => converse<{ readonly kind: "ok"; readonly value: T }>(instance, context, target, from, attempt),
    uri,
  );
  return ended.kind === "asks" ? (ended.asks as never) : ended.value;
};

const addToolHandlers = (instance: Instance): void => {
  const { server, core, origin } = instance;
  server.setRequestHandler(
    "tools/list",
    async (_request, context) => ({ tools: [...(await core.listTools(origin(context).caller))] }) as never,
  );

  server.setRequestHandler("tools/call", async ({ params: { name: tool, arguments: args } }, context) => {
    const first = origin(context, tool);
    const result = await converse(instance, context, tool, first, (from) =>
      core.call({ ...from, tool, args }),
    ).catch((thrown: unknown) => {
      if (thrown instanceof LlmcError) return failedCall(thrown, tool, first.correlationId);
      throw thrown;
    });
    if (result.kind === "asks") return result.asks;
    if (result.kind === "error" && result.error.code === "unknown_tool")
      throw toProtocolError(result.error, first.correlationId);
    return renderResult(result, core.sendsStructured());
  });
};

/** Returns the URIs that the client is subscribed to. */
const addResourceHandlers = (instance: Instance): ReadonlySet<string> => {
  const { server, core, origin } = instance;
  const subscribed = new Set<string>();

  server.setRequestHandler("resources/list", async (_request, context) => ({
    resources: (await core.resources(origin(context).caller)).map(withoutFunctions),
  }));

  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: core.templates().map(withoutFunctions),
  }));

  server.setRequestHandler("resources/read", ({ params: { uri } }, context) =>
    serveAsking(
      instance,
      context,
      uri,
      async (from) => ({ contents: [await core.readResource(uri, from)] }),
      uri,
    ),
  );

  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    if (subscribed.size >= MAX_SUBSCRIPTIONS || uri.length > MAX_URI_CHARS)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        "There are too many subscriptions, or the URI is too long.",
      );
    subscribed.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  return subscribed;
};

const addPromptHandlers = (instance: Instance): void => {
  const { server, core } = instance;

  server.setRequestHandler("prompts/list", () => ({
    prompts: core.prompts().map(publishPrompt) as never,
  }));

  server.setRequestHandler("prompts/get", ({ params }, context) =>
    serveAsking(instance, context, params.name, async (from) => ({
      messages: [...(await core.getPrompt(params.name, params.arguments ?? {}, from))] as never,
    })),
  );

  server.setRequestHandler("completion/complete", ({ params }, context) =>
    serve(instance, context, undefined, (from) => complete(core, params, from)),
  );
};

/** Passes changes of lists and resources on to the client until the connection closes. */
const forwardChanges = ({ server, core }: Instance, isWanted: (uri: string) => boolean): void => {
  const stops = [
    core.onListChanged((kind) => void NOTIFY[kind](server).catch(() => {})),
    core.onResourceUpdated((uri) => {
      if (isWanted(uri)) void server.sendResourceUpdated({ uri }).catch(() => {});
    }),
  ];
  server.onclose = () => {
    for (const stop of stops) stop();
  };
};

/** One MCP server instance over the core: for a connection (stdio), a session or a single request (HTTP). */
export const createMcpServer = (
  { core, version, codec, onError }: McpParts,
  connection: Connection,
  era: "legacy" | "modern",
): Server => {
  const server = new TidyServer(
    { name: SERVER_NAME, version },
    {
      capabilities: CAPABILITIES,
      instructions: core.instructions(readerOf(core, connection)),
      cacheHints: {
        "tools/list": CACHE,
        "prompts/list": CACHE,
        "resources/list": CACHE,
        "resources/templates/list": CACHE,
        "server/discover": CACHE,
      },
      requestState: { verify: codec.verify },
      // It would end the request with a text of its own where a question fails.
      inputRequired: { legacyShim: false },
    },
  );
  server.onerror = onError;
  const instance: Instance = {
    server,
    core,
    codec,
    era,
    origin: (context, target) => ({
      ...originOf(core, connection, context, server.getClientVersion()?.name, server.getClientCapabilities()),
      state: stateFor(target, context.mcpReq.requestState()),
    }),
  };
  addToolHandlers(instance);
  const subscribed = addResourceHandlers(instance);
  addPromptHandlers(instance);

  // An instance that serves a single request has no subscribers; the HTTP handler notifies its own.
  if (connection.transport === "http" && era === "modern") return server;
  // In the 2026 revision the SDK keeps the subscriptions and filters what is sent here.
  forwardChanges(instance, (uri) => era === "modern" || subscribed.has(uri));
  return server;
};
