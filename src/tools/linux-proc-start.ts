import { z } from "zod";
import { describeOutput, processOutput, renderOutput, WAIT_MS } from "./process-output.ts";
import { defineTool } from "./tool.ts";

/** Long enough to see a process fail at once. */
const DEFAULT_WAIT_MS = 300;

export const linuxProcStart = defineTool({
  name: "linux_proc_start",
  description: "Start one long-running or interactive program, without a shell.",
  effect: "execute",
  pathArgument: "cwd",
  // Its own wait is shorter than this; the rest is the sandbox.
  timeoutMs: 60_000,
  input: z.strictObject({
    command: z.string().min(1).max(32_768),
    cwd: z.string().min(1).optional(),
    pty: z.boolean().optional().describe("give it a terminal"),
    wait_ms: WAIT_MS.optional().describe("for first output"),
  }),
  output: processOutput,
  run: async ({ command, cwd, pty = false, wait_ms = DEFAULT_WAIT_MS }, { processes, handles }, call) =>
    describeOutput(
      await processes.start({ command, cwd, pty }, call.caller, wait_ms, call.signal),
      handles,
      call,
    ),
  render: (result, returned) => {
    const output = renderOutput(result, returned);
    const head = `${result.proc_id} pid ${result.pid}`;
    return output === "[running; no new output]" ? head : `${head}\n${output}`;
  },
});
