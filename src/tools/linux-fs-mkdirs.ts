import { z } from "zod";
import { defineTool } from "./tool.ts";

export const linuxFsMkdirs = defineTool({
  name: "linux_fs_mkdirs",
  aliases: ["linux_fs_mkdir"],
  description: "Make a directory and its parents.",
  effect: "write",
  pathArgument: "path",
  input: z.strictObject({ path: z.string().min(1), exist_ok: z.boolean().default(true) }),
  output: z.object({ ok: z.literal(true), path: z.string(), created: z.boolean() }),
  run: async ({ path, exist_ok }, { writes }, { signal }) => ({
    ok: true as const,
    ...(await writes.makeDirs(path, { existOk: exist_ok }, signal)),
  }),
  render: ({ created }) => (created ? "ok" : "ok: already exists"),
});
