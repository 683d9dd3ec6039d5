import { z } from "zod";
import { ellipsize, showControls } from "../base/text.ts";
import { endNote } from "./process-output.ts";
import { describeUse, processUse, renderUse } from "./process-use.ts";
import { defineTool } from "./tool.ts";

const MAX_COMMAND_CHARS = 80;

export const linuxProcList = defineTool({
  name: "linux_proc_list",
  description: "List the processes you started.",
  effect: "read",
  input: z.strictObject({
    top: z.int().min(1).max(100).optional().describe("also the machine's N busiest"),
  }),
  output: z.object({
    processes: z.array(
      z.object({
        proc_id: z.string(),
        pid: z.int(),
        command: z.string(),
        state: z.enum(["running", "ended"]),
        seconds: z.number(),
        output_bytes: z.int(),
        pty: z.boolean(),
        exit_code: z.int().nullable(),
        signal: z.string().nullable(),
        reason: z.string().nullable(),
        tier: z.string(),
      }),
    ),
    top: z.array(processUse).optional(),
  }),
  run: async ({ top }, { processes, system }, call) => {
    const own = await processes.list(call.caller);
    return {
      processes: own.map((one) => ({
        proc_id: one.id,
        pid: one.pid,
        command: ellipsize(one.command, MAX_COMMAND_CHARS),
        state: one.state,
        seconds: Math.round(one.runtimeMs / 100) / 10,
        output_bytes: one.outputBytes,
        pty: one.pty,
        exit_code: one.exitCode ?? null,
        signal: one.signal ?? null,
        reason: one.reason ?? null,
        tier: one.tier,
      })),
      ...(top === undefined ? {} : { top: [...(await system.top(top, call.signal))].map(describeUse) }),
    };
  },
  render: ({ processes, top }) => {
    const own = processes.map(
      (one) =>
        `${one.proc_id} ${endNote(one) || "running"} ${one.seconds}s ${one.output_bytes}B ${showControls(one.command.replace(/\s+/g, " "))}`,
    );
    const lines = own.length === 0 ? ["[none]"] : own;
    return [...lines, ...(top === undefined ? [] : ["", ...top.map(renderUse)])].join("\n");
  },
});
