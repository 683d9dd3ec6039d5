import { z } from "zod";
import { describeOutput, PROC_ID, processOutput, renderOutput, WAIT_MS } from "./process-output.ts";
import { defineTool } from "./tool.ts";

export const linuxProcRead = defineTool({
  name: "linux_proc_read",
  description: "Read a process's new output.",
  effect: "read",
  timeoutMs: 60_000,
  input: z.strictObject({
    proc_id: PROC_ID,
    wait_ms: WAIT_MS.optional().describe("for output"),
    lines: z.int().min(1).max(10_000).optional().describe("the last ones instead"),
    from: z.int().min(0).optional().describe("byte to read from again"),
  }),
  output: processOutput,
  run: async ({ proc_id, wait_ms = 0, lines, from }, { processes, handles }, call) =>
    describeOutput(
      await processes.read(proc_id, { waitMs: wait_ms, lines, from }, call.caller, call.signal),
      handles,
      call,
    ),
  render: renderOutput,
});
