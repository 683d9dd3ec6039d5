import { z } from "zod";
import type { ErrorCode } from "../base/error-table.ts";
import type { Progress } from "../rlm/contract.ts";
import type { RlmAnswer } from "../rlm/port.ts";
import type { CallContext } from "./contract.ts";
import { defineTool } from "./tool.ts";

const spendingSchema = z.object({
  calls: z.int(),
  failed_calls: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_usd: z.number(),
});

const spendingOf = ({
  calls,
  failedCalls,
  inputTokens,
  outputTokens,
  costUsd,
}: RlmAnswer["spending"]["byDepth"][number]) => ({
  calls,
  failed_calls: failedCalls,
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  cost_usd: costUsd,
});

const summarize = ({ spending, counts }: RlmAnswer) => {
  const { cost_usd, ...total } = spendingOf(spending);
  return {
    total_cost_usd: cost_usd,
    budget_usd: spending.budgetUsd,
    ...total,
    cache_read_tokens: spending.cacheReadTokens,
    cache_saved_usd: spending.cacheSavedUsd,
    cached_calls: spending.cachedCalls,
    unpriced_calls: spending.unpricedCalls,
    turns: counts.turns,
    by_depth: spending.byDepth.map((one, depth) => ({ depth, ...spendingOf(one) })),
  };
};

/** The codes that doc0 gives it, and `cancelled`, which goes to a caller that no longer reads. */
const CODES: ReadonlySet<ErrorCode> = new Set([
  "invalid_args",
  "path_denied",
  "file_not_found",
  "file_too_large",
  "egress_denied",
  "budget_exceeded",
  "timeout",
  "provider_error",
  "internal_error",
  "cancelled",
]);

/** What other codes are reported as; any that is not here is an internal error. */
const REPORTED_AS: Partial<Readonly<Record<ErrorCode, ErrorCode>>> = {
  unavailable: "provider_error",
  rate_limited: "provider_error",
  is_directory: "path_denied",
  not_a_directory: "file_not_found",
  permission_denied: "path_denied",
  forbidden: "egress_denied",
  unsupported_media: "invalid_args",
};

/** A day. Bounds that the contract does not publish are checked all the same; models and languages by their names. */
const MAX_SECONDS = 86_400;
const MAX_PATH_CHARS = 4096;

const input = z
  .strictObject({
    task: z.string().min(1).max(5000).describe("question about the text"),
    path: z
      .string()
      .min(1)
      .refine((path) => path.length <= MAX_PATH_CHARS, `at most ${MAX_PATH_CHARS} characters`)
      .optional(),
    context: z.string().min(1).optional().describe("the text, instead of path"),
    budget_usd: z.number().min(0.01).default(1),
    model: z.string().min(1).optional(),
    // What applies where it is left out is the operator's choice.
    max_bytes: z.int().min(1).optional().meta({ default: 262_144 }),
    timeout_s: z
      .int()
      .min(1)
      .refine((seconds) => seconds <= MAX_SECONDS, `at most ${MAX_SECONDS}`)
      .optional()
      .meta({ default: 300 }),
    max_turns: z.int().min(1).max(10).default(5),
    language: z.string().min(1).optional(),
  })
  .refine(({ path, context }) => (path === undefined) !== (context === undefined), {
    message: "exactly one of path and context has to be given",
    path: ["path"],
  });

/** Turns of the analysis, and between them what it calls: the number never falls, as the protocol wants it. */
const reportTo = (progress: CallContext["progress"]) => {
  let [turn, events] = [0, 0];
  return ({ turn: current, maxTurns, calls, costUsd, budgetUsd, event }: Progress): void => {
    if (current > turn) [turn, events] = [current, 0];
    else events++;
    if (turn === 0) return;
    const done = turn - 1 + events / (events + 5);
    const message = `turn ${turn} of ${maxTurns} | ${calls} calls | $${costUsd.toFixed(4)} of $${budgetUsd.toFixed(2)} | ${event.node} ${event.kind} ${event.detail}`;
    void progress(done, maxTurns, message);
  };
};

export const rlmQuery = defineTool({
  name: "rlm_query",
  description: "Let a model analyse a file or text that is too long to read, by program and sub-calls.",
  effect: "egress",
  pathArgument: "path",
  // An analysis has a deadline of its own, which is shorter than this.
  timeoutMs: MAX_SECONDS * 1000 + 60_000,
  exclusive: ["path", "context"],
  input,
  output: z.object({
    data: z.object({
      answer: z.string(),
      session_id: z.string(),
      budget_summary: z.object({
        total_cost_usd: z.number(),
        budget_usd: z.number(),
        ...spendingSchema.omit({ cost_usd: true }).shape,
        cache_read_tokens: z.int(),
        cache_saved_usd: z.number(),
        cached_calls: z.int(),
        unpriced_calls: z.int(),
        turns: z.int(),
        by_depth: z.array(spendingSchema.extend({ depth: z.int() })),
      }),
      /** Parts of the context that the model named; each was found there. */
      evidence: z
        .array(z.object({ start: z.int(), end: z.int(), line: z.int(), text: z.string() }))
        .optional(),
    }),
    meta: z.object({
      source: z.object({
        type: z.enum(["path", "context"]),
        path: z.string().optional(),
        bytes_read: z.int(),
        truncated: z.boolean(),
      }),
      model_used: z.string(),
      trace_included: z.literal(false),
      trace_file: z.string().optional(),
      /** A limit ended the analysis: the answer is its last draft. */
      partial: z.literal(true).optional(),
      limit: z.string().optional(),
    }),
  }),
  reportedCode: (code) => (CODES.has(code) ? code : (REPORTED_AS[code] ?? "internal_error")),
  run: async (args, { rlm, files, server }, call) => {
    const { caller, correlationId, signal, progress } = call;
    const answer = await rlm.query(
      {
        task: args.task,
        path: args.path,
        context: args.context,
        budgetUsd: args.budget_usd,
        model: args.model,
        maxBytes: args.max_bytes,
        timeoutSeconds: args.timeout_s,
        maxTurns: args.max_turns,
        language: args.language,
      },
      files,
      {
        caller,
        correlationId,
        signal,
        onProgress: reportTo(progress),
        sampling: {
          canSample: call.canAsk("sampling"),
          answers: call.answers,
          state: call.state,
          givenUp: server.cancellationOf(call),
          ask: call.ask,
        },
      },
    );
    const { partial, evidence, traceFile } = answer;
    return {
      data: {
        answer: answer.answer,
        session_id: answer.sessionId,
        budget_summary: summarize(answer),
        ...(evidence.length === 0 ? {} : { evidence: evidence.map((one) => ({ ...one })) }),
      },
      meta: {
        source: answer.source,
        model_used: answer.modelUsed,
        trace_included: false as const,
        ...(traceFile === undefined ? {} : { trace_file: traceFile }),
        ...(partial === undefined
          ? {}
          : { partial: true as const, limit: String(partial.details["limit"] ?? partial.code) }),
      },
    };
  },
  render: (output) => JSON.stringify(output),
});
