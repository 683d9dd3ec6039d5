import { z } from "zod";
import { defineTool } from "./tool.ts";

export const linuxFsCopy = defineTool({
  name: "linux_fs_copy",
  description: "Copy a file or directory.",
  effect: "write",
  pathArgument: "source",
  input: z.strictObject({
    source: z.string().min(1),
    target: z.string().min(1),
    overwrite: z.boolean().default(false).describe("Files only"),
  }),
  output: z.object({
    ok: z.literal(true),
    source: z.string(),
    target: z.string(),
    files: z.int(),
    bytes: z.int(),
    skipped: z.int(),
  }),
  run: async ({ source, target, overwrite }, { writes }, { signal }) => ({
    ok: true as const,
    ...(await writes.copy(source, target, { overwrite }, signal)),
  }),
  render: ({ files, skipped }) =>
    `ok: ${files} ${files === 1 ? "file" : "files"}${skipped === 0 ? "" : `; links left out: ${skipped}`}`,
});
