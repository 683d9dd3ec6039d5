import { z } from "zod";
import { defineTool } from "./tool.ts";

export const linuxFsDelete = defineTool({
  name: "linux_fs_delete",
  description: "Delete a file, or a directory with recursive.",
  effect: "write",
  pathArgument: "path",
  input: z.strictObject({ path: z.string().min(1), recursive: z.boolean().default(false) }),
  output: z.object({ ok: z.literal(true), path: z.string(), removed: z.int() }),
  run: async ({ path, recursive }, { writes }, { signal }) => ({
    ok: true as const,
    ...(await writes.remove(path, { recursive }, signal)),
  }),
  render: ({ removed }) => (removed === 1 ? "ok" : `ok: ${removed} removed`),
});
