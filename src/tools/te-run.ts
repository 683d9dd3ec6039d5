import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { commandMeta, metaOf, renderCommand, shownOf } from "./command-result.ts";
import { defineTool } from "./tool.ts";

const commandOf = (command: string | undefined, args: readonly string[] | undefined) => {
  const given = command ?? args;
  if (given !== undefined && (command === undefined || args === undefined)) return given;
  const what = given === undefined ? "command or args is missing" : "command and args exclude each other";
  throw new LlmcError("invalid_args", `${what}.`, {
    hint: 'Give command as one line ("grep -n x f"), or args as a list (["grep", "-n", "x", "f"]).',
    details: { field: given === undefined ? "command" : "args" },
  });
};

export const teRun = defineTool({
  name: "te_run",
  description: "Run a command line of allowed programs (no shell); long output is summarized.",
  effect: "execute",
  pathArgument: "cwd",
  // The command has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input: z.strictObject({
    command: z.string().min(1).max(32_768).optional(),
    args: z.array(z.string().max(32_768)).min(1).max(1000).optional().describe("instead of command"),
    cwd: z.string().min(1).optional(),
    timeout: z.int().min(1).max(86_400).optional().describe("seconds"),
    raw: z.boolean().optional().describe("no summary"),
  }),
  output: z.object({
    data: z.object({
      success: z.boolean(),
      mode: z.enum(["enriched", "passthrough", "raw"]),
      command: z.string(),
      stdout: z.string(),
      stderr: z.string(),
      exit_code: z.int(),
      enrichment: z.object({
        match_count: z.int().nullable(),
        truncated: z.boolean(),
        handle: z.string().nullable(),
        tokens_estimate: z.int(),
      }),
      telemetry: z.object({
        latency_ms: z.number(),
        agent_id: z.string(),
        budget_remaining: z.int().nullable(),
      }),
    }),
    meta: commandMeta.pick({
      tier: true,
      duration_ms: true,
      timed_out: true,
      set_aside: true,
      unresolved: true,
    }),
  }),
  run: async ({ command, args, cwd, timeout, raw }, { envelope }, { signal, caller }) => {
    const call = { command: commandOf(command, args), cwd, timeoutSeconds: timeout, raw };
    const result = await envelope.run(call, caller, signal);
    const { tier, duration_ms, timed_out, set_aside, unresolved } = metaOf(result);
    const meta = {
      tier,
      duration_ms,
      timed_out,
      ...(set_aside === undefined ? {} : { set_aside }),
      ...(unresolved === undefined ? {} : { unresolved }),
    };
    return { data: result.document, meta, shown: shownOf(result) };
  },
  render: ({ data, meta }, { shown }) =>
    renderCommand(data, { ...meta, ...data.enrichment, ...data.telemetry, ...shown }),
});
