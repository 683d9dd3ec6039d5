import { z } from "zod";
import { defineTool } from "./tool.ts";

export const listDir = defineTool({
  name: "list_dir",
  description: "List a directory's names.",
  effect: "read",
  pathArgument: "path",
  input: z.strictObject({
    path: z.string().min(1).default("."),
    offset: z.int().min(0).max(2_000_000_000).default(0).describe("names to skip"),
    limit: z.int().min(1).max(5000).default(300).describe("max names"),
  }),
  output: z.object({
    data: z.array(z.string()),
    meta: z.object({
      path: z.string(),
      total: z.int(),
      truncated: z.boolean(),
      /** Which of the names are directories. */
      dirs: z.array(z.string()),
    }),
  }),
  run: async ({ path, offset, limit }, { files, server }, { signal, caller }) => {
    const stubPath = server.stubs.pathOf(path);
    const listing =
      stubPath === undefined
        ? await files.list(path, signal)
        : { path, entries: await server.stubs.list(stubPath, caller) };
    const page = listing.entries.slice(offset, offset + limit);
    return {
      data: page.map(({ name }) => name),
      meta: {
        path: listing.path,
        total: listing.entries.length,
        truncated: offset + page.length < listing.entries.length,
        dirs: page.filter(({ type }) => type === "dir").map(({ name }) => name),
      },
    };
  },
  render: ({ data, meta }) => {
    if (meta.total === 0) return "[empty directory]";
    const dirs = new Set(meta.dirs);
    // A name with a line break would read as two: such names are shown quoted.
    const lines = data.map(
      (name) => `${/[\n\r]/.test(name) ? JSON.stringify(name) : name}${dirs.has(name) ? "/" : ""}`,
    );
    const more = meta.truncated ? [`[${data.length} of ${meta.total} names; go on with offset]`] : [];
    return [...lines, ...more].join("\n");
  },
});
