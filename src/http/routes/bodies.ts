import { z } from "zod";

/** The bodies of the HTTP endpoints: requests are validated against them, and the OpenAPI document is generated from them. */

const sessionId = z
  .string()
  .min(1)
  .max(200)
  .describe("Names the conversation or task in logs and telemetry.");

export const toolBody = z.strictObject({
  session_id: sessionId,
  name: z.string().min(1).max(200).describe("The tool."),
  args: z.record(z.string(), z.unknown()).default({}).describe("The tool's arguments."),
});

const ROLES = ["Beatrice", "Otto", "Rem", "Grace"] as const;

export const agentBody = z.strictObject({
  session_id: sessionId,
  role: z.enum(ROLES).describe("The agent that answers."),
  user_msg: z.string().min(1).describe("The message of the user."),
  inject_context: z.string().default("").describe("Context to put before the message."),
});

export const agentAnswer = z.object({
  text: z.string(),
  meta: z
    .object({
      model: z.string(),
      finish_reason: z
        .enum(["stop", "length", "filtered", "other"])
        .describe("length: the answer was truncated at mcp.llm.max_output_tokens."),
      usage: z
        .object({ input_tokens: z.int().optional(), output_tokens: z.int().optional() })
        .describe("As the provider counts."),
      cost_usd: z.number().optional().describe("Omitted if the price is unknown."),
      sources: z.array(z.string()).describe("Where the context came from: path#Lx-Ly."),
    })
    .optional()
    .describe("Only if a model answered."),
});

export type AgentAnswer = z.infer<typeof agentAnswer>;

export const searchBody = z.strictObject({
  q: z.string().min(1).describe("The query: plain text or names."),
  scope: z
    .enum(["repo", "docs", "both"])
    .optional()
    .describe("The scope of the search; default: mcp.rag.default_scope."),
  k: z.int().min(1).optional().describe("Maximum number of snippets; at most mcp.rag.top_k."),
  budget_tokens: z
    .int()
    .min(1)
    .optional()
    .describe("Maximum number of tokens of text; at most mcp.rag.token_budget."),
});

export const searchAnswer = z.object({
  snippets: z.array(
    z.object({
      text: z.string(),
      src: z.string().describe("path#Lx-Ly"),
      score: z.number(),
    }),
  ),
  provenance: z.literal(true),
});

export const bootloadBody = z.strictObject({
  session_id: sessionId,
  task_id: z
    .string()
    .min(1)
    .max(4000)
    .describe("The task that the session is about to start: its id or a description."),
});

export const bootloadAnswer = z.object({
  plan: z.string(),
  scope: z.enum(["repo", "docs", "both"]),
  notes: z.string(),
});

export type Bootload = z.infer<typeof bootloadAnswer>;

export const healthAnswer = z.object({
  ok: z.boolean(),
  version: z.string(),
  waiting: z.int().optional().describe("Number of keys of the workspace's file that wait for llmc trust."),
  problems: z
    .int()
    .optional()
    .describe("Number of errors in policy files; the last good policies are in force."),
});

export const invokeErrorAnswer = z.object({
  error: z.object({
    code: z.string().describe("VALIDATION_ERROR, PERMISSION_DENIED, RESOURCE_NOT_FOUND, …"),
    message: z.string(),
    details: z.record(z.string(), z.unknown()),
    request_id: z.string(),
    timestamp: z.string().describe("ISO 8601"),
  }),
});

export const errorAnswer = z.object({
  code: z.string().describe("AUTH_FAILED, FORBIDDEN, BAD_ARGS, NOT_FOUND, TOO_LARGE, RATE_LIMITED, …"),
  message: z.string(),
  hint: z.string().optional(),
  correlation_id: z.string(),
});
