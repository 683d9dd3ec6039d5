import { z } from "zod";

/** The bodies of doc1 §5, which requests are checked against and the OpenAPI description is made from. */

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
  role: z.enum(ROLES).describe("The agent that is spoken to."),
  user_msg: z.string().min(1).describe("What the user says."),
  inject_context: z.string().default("").describe("Context to put before it."),
});

export const agentAnswer = z.object({
  text: z.string(),
  meta: z
    .object({
      model: z.string(),
      finish_reason: z
        .enum(["stop", "length", "filtered", "other"])
        .describe("length: the answer was cut at mcp.llm.max_output_tokens."),
      usage: z
        .object({ input_tokens: z.int().optional(), output_tokens: z.int().optional() })
        .describe("As the provider counted."),
      cost_usd: z.number().optional().describe("Left out where the price is not known."),
      sources: z.array(z.string()).describe("Where the context came from: path#Lx-Ly."),
    })
    .optional()
    .describe("Only where a model answered."),
});

export type AgentAnswer = z.infer<typeof agentAnswer>;

export const searchBody = z.strictObject({
  q: z.string().min(1).describe("What is looked for, in plain words or names."),
  scope: z.enum(["repo", "docs", "both"]).optional().describe("Where; left out, mcp.rag.default_scope."),
  k: z.int().min(1).optional().describe("At most so many snippets; never more than mcp.rag.top_k."),
  budget_tokens: z
    .int()
    .min(1)
    .optional()
    .describe("At most so many tokens of text; never more than mcp.rag.token_budget."),
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
    .describe("The task that the session is about to start: its id, or in words."),
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
  waiting: z.int().optional().describe("Keys of the workspace's file that wait for llmc trust."),
});

export const errorAnswer = z.object({
  code: z.string().describe("AUTH_FAILED, FORBIDDEN, BAD_ARGS, NOT_FOUND, TOO_LARGE, RATE_LIMITED, …"),
  message: z.string(),
  hint: z.string().optional(),
  correlation_id: z.string(),
});
