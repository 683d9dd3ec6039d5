import { z } from "zod";
import type { PublishedTool } from "../../core/publish.ts";
import { invokeAnswer, invokeBody } from "../../link/invoke.ts";
import {
  agentAnswer,
  agentBody,
  bootloadAnswer,
  bootloadBody,
  errorAnswer,
  healthAnswer,
  invokeErrorAnswer,
  searchAnswer,
  searchBody,
  toolBody,
} from "./bodies.ts";

interface DescriptionFacts {
  readonly version: string;
  /** The tools of the current mode. */
  readonly tools: readonly PublishedTool[];
  /** Output schemas by tool; only some modes publish them. */
  readonly outputs: ReadonlyMap<string, unknown>;
  readonly header: string;
  readonly needsToken: boolean;
  readonly metricsPath: string | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const schemaOf = (schema: z.ZodType, io: "input" | "output"): Json => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
};

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: Json): Json => ({ "application/json": { schema } });
const answer = (description: string, schema: Json): Json => ({ description, content: json(schema) });

const ERRORS: Readonly<Record<string, string>> = {
  401: "AUTH_FAILED: the token is missing or wrong.",
  403: "FORBIDDEN: the token's scopes, the path or a policy do not allow it.",
  404: "NOT_FOUND: no such tool, file or path.",
  413: "TOO_LARGE: the body is larger than mcp.limits.max_request_bytes.",
  415: "BAD_ARGS: the body is not plain JSON.",
  422: "BAD_ARGS: a field is missing, unknown, of the wrong type or out of bounds.",
  429: "RATE_LIMITED: too many requests; Retry-After says when to try again.",
  500: "INTERNAL: the log has the details under the correlation id.",
  502: "INTERNAL: the model's provider answered with an error.",
  503: "BUSY: too many calls are running, the server is stopping, or a feature is switched off.",
  504: "TIMEOUT: the call exceeded its deadline.",
};

const errorResponses = (statuses: readonly number[]): Json =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));

const CALL_ERRORS = [401, 403, 404, 413, 415, 422, 429, 500, 502, 503, 504];

const post = (operationId: string, summary: string, request: string, success: Json): Json => ({
  post: {
    operationId,
    summary,
    requestBody: { required: true, content: json(ref(request)) },
    responses: { 200: success, ...errorResponses(CALL_ERRORS) },
  },
});

/** One variant of the /tool body for each tool, so that the page and generators know its arguments. */
const toolVariants = (tools: readonly PublishedTool[]): Json => {
  const general = schemaOf(toolBody, "input");
  const properties = general["properties"] as Json;
  return {
    oneOf: tools.map(({ name, description, inputSchema }) => ({
      type: "object",
      title: name,
      description,
      properties: { ...properties, name: { const: name }, args: inputSchema },
      required: ["session_id", "name", ...("required" in inputSchema ? ["args"] : [])],
      additionalProperties: false,
    })),
  };
};

const toolAnswers = ({ tools, outputs }: DescriptionFacts): Json => {
  const known = tools.flatMap(({ name }) => {
    const schema = outputs.get(name);
    return schema === undefined ? [] : [{ title: name, ...(schema as Json) }];
  });
  const plain = {
    title: "any other tool",
    type: "object",
    properties: { data: {}, meta: { type: "object" } },
    required: ["data"],
  };
  return { anyOf: [...known, plain] };
};

const EVENTS =
  "With `Accept: text/event-stream`: events `progress` ({done, total?, message?}), then one `result` (the same document) or `error` (the error envelope). A client that disconnects ends the call.";

const openGet = (operationId: string, summary: string, responses: Json): Json => ({
  get: { operationId, summary, security: [], responses },
});

const pathsOf = (facts: DescriptionFacts): Json => ({
  "/health": openGet("health", "Whether the server is healthy.", {
    200: answer("It is healthy.", schemaOf(healthAnswer, "output")),
  }),
  "/health/live": openGet("live", "Whether the process is alive.", {
    200: { description: "It is alive." },
  }),
  "/health/ready": openGet("ready", "Whether it accepts new requests.", {
    200: { description: "It does." },
    503: { description: "It is stopping." },
  }),
  "/tool": post("tool", "Call a tool.", "ToolRequest", {
    description: `The tool's own document. ${EVENTS}`,
    content: {
      ...json(ref("ToolAnswer")),
      "text/event-stream": { schema: { type: "string" } },
    },
  }),
  "/invoke": {
    post: {
      operationId: "invoke",
      summary:
        "Call a tool in the shapes of the Unix socket, for programs that know those; not served in air-gapped mode.",
      requestBody: { required: true, content: json(ref("InvokeRequest")) },
      responses: {
        200: answer("The tool's own document.", ref("InvokeAnswer")),
        default: answer("The call failed, with the status of the other endpoints.", ref("InvokeError")),
      },
    },
  },
  "/invoke_agent": post(
    "invoke_agent",
    "Send a message to an agent role. The model of mcp.llm.agent_model answers with context of the workspace, which needs the scope egress; without a model the message is only acknowledged.",
    "AgentRequest",
    answer(
      "The answer, or the acknowledgement. With a model and `Accept: text/event-stream`: events `progress` (pieces of the text as `message`), then one `result` or `error`.",
      ref("AgentAnswer"),
    ),
  ),
  "/rag/search": post(
    "rag_search",
    "Search the index; snippets come with their source.",
    "SearchRequest",
    answer("The snippets, best first.", ref("SearchAnswer")),
  ),
  "/rag/bootload": post(
    "rag_bootload",
    "What a session should read before it starts a task.",
    "BootloadRequest",
    answer("Plan, scope and notes.", ref("BootloadAnswer")),
  ),
  ...(facts.metricsPath === undefined
    ? {}
    : {
        [facts.metricsPath]: {
          get: {
            operationId: "metrics",
            summary: "Metrics in the Prometheus text format; needs the scope metrics.",
            responses: {
              200: { description: "The metrics.", content: { "text/plain": { schema: { type: "string" } } } },
              ...errorResponses([401, 403, 429]),
            },
          },
        },
      }),
  "/mcp": {
    post: {
      operationId: "mcp",
      summary: "The Model Context Protocol over Streamable HTTP, revisions 2025-11-25 and 2026-07-28.",
      requestBody: { required: true, content: json({ type: "object" }) },
      responses: {
        200: { description: "A JSON-RPC answer, or a stream of them." },
        ...errorResponses([401, 403, 413, 429, 503]),
      },
    },
  },
});

/** The OpenAPI 3.1 document for the current mode, tools and token header. */
export const describeApi = (facts: DescriptionFacts): Json => ({
  openapi: "3.1.0",
  info: {
    title: "llmc",
    version: facts.version,
    description:
      "Tools, retrieval and MCP over HTTP. Every response has an X-Correlation-Id header; that of the request is used if it is well-formed. WebSocket: /ws takes {id, session_id, name, args} and answers {id, event, data}; {id, cancel: true} ends a call.",
  },
  servers: [{ url: "/" }],
  security: facts.needsToken ? [{ token: [] }, { bearer: [] }] : [],
  paths: pathsOf(facts),
  components: {
    securitySchemes: {
      token: { type: "apiKey", in: "header", name: facts.header },
      bearer: { type: "http", scheme: "bearer" },
    },
    responses: Object.fromEntries(
      Object.entries(ERRORS).map(([status, description]) => [status, answer(description, ref("Error"))]),
    ),
    schemas: {
      ToolRequest: toolVariants(facts.tools),
      ToolAnswer: toolAnswers(facts),
      InvokeRequest: schemaOf(invokeBody, "input"),
      InvokeAnswer: schemaOf(invokeAnswer, "output"),
      InvokeError: schemaOf(invokeErrorAnswer, "output"),
      AgentRequest: schemaOf(agentBody, "input"),
      AgentAnswer: schemaOf(agentAnswer, "output"),
      SearchRequest: schemaOf(searchBody, "input"),
      SearchAnswer: schemaOf(searchAnswer, "output"),
      BootloadRequest: schemaOf(bootloadBody, "input"),
      BootloadAnswer: schemaOf(bootloadAnswer, "output"),
      Error: schemaOf(errorAnswer, "output"),
    },
  },
});
