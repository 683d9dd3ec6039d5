import { z } from "zod";
import { defineTool } from "./tool.ts";

const MAX_BYTES = 262_144;

export const repoRead = defineTool({
  name: "repo_read",
  description: "Read a file of a repository.",
  effect: "read",
  pathArgument: "path",
  input: z.strictObject({
    root: z.string().min(1).optional().describe("repository folder"),
    path: z.string().min(1),
    max_bytes: z.int().min(1).max(MAX_BYTES).default(65_536),
  }),
  output: z.object({
    data: z.string(),
    meta: z.object({ path: z.string(), length: z.int(), truncated: z.boolean() }),
  }),
  run: async ({ root, path, max_bytes }, { files }, { signal }) => {
    const requestedPath = root === undefined ? path : `${root.replace(/\/+$/, "")}/${path}`;
    const slice = await files.readText(
      requestedPath,
      { offsetLines: 0, maxLines: 1_000_000, maxBytes: max_bytes },
      signal,
    );
    return {
      data: slice.text,
      meta: { path: slice.path, length: slice.sizeBytes, truncated: slice.truncated },
    };
  },
  render: ({ data, meta }) => {
    if (meta.truncated)
      return `${data}${data.endsWith("\n") ? "" : "\n"}[cut: the file has ${meta.length} bytes]`;
    return data === "" ? "[empty file]" : data;
  },
});
