import { z } from "zod";
import { defineTool } from "./tool.ts";

export const health = defineTool({
  name: "health",
  description: "Server health, version and mode.",
  effect: "read",
  input: z.strictObject({}),
  output: z.object({
    data: z.object({ ok: z.boolean(), version: z.string() }),
    meta: z.object({
      program: z.string(),
      mode: z.string(),
      uptime_s: z.number(),
      tools: z.int(),
      waiting: z.array(z.string()).optional(),
      problems: z.array(z.string()).optional(),
    }),
  }),
  run: async (_args, { server }) => {
    const { ok, version, program, mode, uptimeSeconds, tools, waiting, problems } = server.health();
    return {
      data: { ok, version },
      meta: {
        program,
        mode,
        uptime_s: uptimeSeconds,
        tools,
        ...(waiting.length === 0 ? {} : { waiting: [...waiting] }),
        ...(problems.length === 0 ? {} : { problems: [...problems] }),
      },
    };
  },
  render: (output) => JSON.stringify(output),
});
