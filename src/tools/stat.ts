import { z } from "zod";
import { defineTool } from "./tool.ts";

export const stat = defineTool({
  name: "stat",
  description: "Size, time, mode and type of a path.",
  effect: "read",
  pathArgument: "path",
  input: z.strictObject({ path: z.string().min(1) }),
  output: z.object({
    data: z.object({
      size: z.number(),
      mtime: z.number(),
      mode: z.string(),
      type: z.enum(["file", "dir", "link", "other"]),
    }),
    meta: z.object({ path: z.string() }),
  }),
  run: async ({ path }, { files }, { signal }) => {
    const { path: real, ...data } = await files.stat(path, signal);
    return { data, meta: { path: real } };
  },
  render: (output) => JSON.stringify(output.data),
});
