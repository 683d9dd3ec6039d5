import { z } from "zod";
import { commandMeta, metaOf, renderCommand, shownOf } from "./command-result.ts";
import { defineTool } from "./tool.ts";

export const runCmd = defineTool({
  name: "run_cmd",
  description: "Run allowlisted programs: pipes, &&, cd, globs and > work; there is no shell.",
  effect: "execute",
  pathArgument: "cwd",
  // The command has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input: z.strictObject({
    command: z.string().min(1).max(32_768),
    timeout: z.int().min(1).max(86_400).optional().describe("seconds"),
    cwd: z.string().min(1).optional(),
    raw: z.boolean().optional().describe("no summary"),
  }),
  output: z.object({
    data: z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() }),
    meta: commandMeta,
  }),
  run: async ({ command, timeout, cwd, raw }, { envelope }, { signal, caller }) => {
    const result = await envelope.run({ command, timeoutSeconds: timeout, cwd, raw }, caller, signal);
    const { stdout, stderr } = result.output;
    const { exit_code } = result.document;
    return { data: { stdout, stderr, exit_code }, meta: metaOf(result), shown: shownOf(result) };
  },
  render: ({ data: { exit_code }, meta }, { shown }) =>
    renderCommand({ ...shown, exit_code }, { ...meta, ...shown }),
});
