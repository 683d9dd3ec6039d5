import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { endNote, PROC_ID } from "./process-output.ts";
import { defineTool } from "./tool.ts";

const SIGNALS = ["KILL", "TERM", "INT", "HUP", "QUIT", "STOP", "CONT", "USR1", "USR2"] as const;

export const linuxProcKill = defineTool({
  name: "linux_proc_kill",
  description: "Signal a process.",
  effect: "execute",
  input: z.strictObject({
    proc_id: PROC_ID.optional(),
    pid: z.int().min(1).max(4_194_304).optional(),
    signal: z.enum(SIGNALS).optional().describe("KILL if left out"),
  }),
  output: z.object({
    proc_id: z.string().nullable(),
    pid: z.int(),
    signalled: z.string(),
    state: z.enum(["running", "ended", "unknown"]),
    exit_code: z.int().nullable(),
    signal: z.string().nullable(),
    reason: z.string().nullable(),
  }),
  run: async ({ proc_id, pid, signal = "KILL" }, { processes }, call) => {
    const target = proc_id !== undefined ? { id: proc_id } : pid !== undefined ? { pid } : undefined;
    if (target === undefined || (proc_id !== undefined && pid !== undefined))
      throw new LlmcError("invalid_args", "Give either proc_id or pid.", { details: { field: "proc_id" } });
    const view = await processes.kill(target, `SIG${signal}`, call.caller);
    return {
      proc_id: view?.id ?? null,
      pid: view?.pid ?? pid ?? 0,
      signalled: signal,
      state: view?.state ?? ("unknown" as const),
      exit_code: view?.exitCode ?? null,
      signal: view?.signal ?? null,
      reason: view?.reason ?? null,
    };
  },
  render: (result) => `[${result.state === "ended" ? endNote(result) : `${result.signalled} sent`}]`,
});
