import { z } from "zod";
import { describeOutput, PROC_ID, processOutput, renderOutput, WAIT_MS } from "./process-output.ts";
import { defineTool } from "./tool.ts";

/** Most prompts answer sooner, and the call returns as soon as they have. */
const DEFAULT_WAIT_MS = 1000;

export const linuxProcSend = defineTool({
  name: "linux_proc_send",
  description: "Send a line or a key to a process; returns what it answers.",
  effect: "execute",
  timeoutMs: 60_000,
  input: z.strictObject({
    proc_id: PROC_ID,
    input: z.string().max(262_144).optional().describe("line; its end is added"),
    key: z.string().min(1).max(16).optional().describe("ctrl-c, ctrl-d (EOF), tab, up, … or one character"),
    wait_ms: WAIT_MS.optional(),
  }),
  output: processOutput,
  run: async ({ proc_id, input, key, wait_ms = DEFAULT_WAIT_MS }, { processes, handles }, call) =>
    describeOutput(
      await processes.send(proc_id, { input, key, waitMs: wait_ms }, call.caller, call.signal),
      handles,
      call,
    ),
  render: renderOutput,
});
