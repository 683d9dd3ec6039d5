import { z } from "zod";
import { defineTool } from "./tool.ts";

export const linuxFsMove = defineTool({
  name: "linux_fs_move",
  description: "Move or rename a file or directory; never overwrites.",
  effect: "write",
  pathArgument: "source",
  input: z.strictObject({ source: z.string().min(1), target: z.string().min(1) }),
  output: z.object({ ok: z.literal(true), source: z.string(), target: z.string() }),
  run: async ({ source, target }, { writes }, { signal }) => ({
    ok: true as const,
    ...(await writes.move(source, target, signal)),
  }),
  render: () => "ok",
});
