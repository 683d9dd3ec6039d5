import { z } from "zod";
import { describeOutput, PROC_ID, processOutput, renderOutput } from "./process-output.ts";
import { defineTool } from "./tool.ts";

export const linuxProcStop = defineTool({
  name: "linux_proc_stop",
  description: "End a process and all it started.",
  effect: "execute",
  input: z.strictObject({ proc_id: PROC_ID }),
  output: processOutput,
  run: async ({ proc_id }, { processes, handles }, call) =>
    describeOutput(await processes.stop(proc_id, call.caller), handles, call),
  render: renderOutput,
});
