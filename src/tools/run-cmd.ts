import { z } from "zod";
import { commandMeta, metaOf, renderCommand } from "./command-result.ts";
import { defineTool } from "./tool.ts";

export const runCmd = defineTool({
  name: "run_cmd",
  description: "Run allowlisted programs: pipes, &&, cd, globs and > work; there is no shell.",
  effect: "execute",
  // The command has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input: z.strictObject({
    command: z.string().min(1).max(32_768),
    timeout: z.int().min(1).max(86_400).optional().describe("seconds"),
    cwd: z.string().min(1).optional(),
  }),
  output: z.object({
    data: z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() }),
    meta: commandMeta,
  }),
  run: async ({ command, timeout, cwd }, { envelope }, { signal, caller }) => {
    const result = await envelope.run({ command, timeoutSeconds: timeout, cwd }, caller, signal);
    const { stdout, stderr, exit_code } = result.document;
    return { data: { stdout, stderr, exit_code }, meta: metaOf(result) };
  },
  render: ({ data, meta }) => renderCommand(data, meta),
});
