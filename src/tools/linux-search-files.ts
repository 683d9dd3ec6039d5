import { z } from "zod";
import { defineTool } from "./tool.ts";
import { renderUnread, toUnread, unreadShape } from "./unread.ts";

export const linuxSearchFiles = defineTool({
  name: "linux_search_files",
  description: "Find files by name: a glob, or letters of the name (best first).",
  effect: "read",
  pathArgument: "root",
  backend: "the search program",
  input: z.strictObject({
    root: z.string().min(1).default("."),
    pattern: z.string().min(1),
    file_glob: z.string().min(1).nullish(),
    max_results: z.int().min(1).max(2000).default(200),
    no_ignore: z.boolean().default(false).describe("also ignored and hidden files"),
  }),
  output: z.object({
    hits: z.array(z.object({ path: z.string() })),
    total_hits: z.int(),
    truncated: z.boolean(),
    handle: z.string().nullable(),
    total_is_exact: z.boolean(),
    unread: unreadShape,
    /** Files of exactly this name that ignore rules hide, where nothing else has the name. */
    ignored: z.array(z.object({ path: z.string(), rule: z.string() })).optional(),
  }),
  run: async ({ root, pattern, file_glob, max_results, no_ignore }, { search }, { signal, caller }) => {
    const query = {
      root,
      pattern,
      fileGlob: file_glob ?? undefined,
      ignoreFiles: !no_ignore,
      maxResults: max_results,
    };
    const answer = await search.names(query, caller, signal);
    return {
      hits: answer.paths.map((path) => ({ path })),
      total_hits: answer.totalHits,
      truncated: answer.totalHits > answer.paths.length || !answer.exact,
      handle: answer.handle ?? null,
      total_is_exact: answer.exact,
      ...toUnread(answer.unread),
      ...(answer.ignored.length > 0 ? { ignored: [...answer.ignored] } : {}),
    };
  },
  render: ({ hits, total_hits, truncated, handle, unread, ignored = [] }) => {
    const hidden = ignored.map(({ path, rule }) => `[ignored: ${path} by ${rule}; no_ignore shows it]`);
    if (hits.length === 0)
      return [...(ignored.length > 0 ? hidden : ["[no files]"]), ...renderUnread(unread)].join("\n");
    const rest = handle === null ? "" : `; all: handle:${handle}`;
    return [
      ...hits.map(({ path }) => path),
      ...hidden,
      ...(truncated ? [`[${hits.length} of ${total_hits} files${rest}]`] : []),
      ...renderUnread(unread),
    ].join("\n");
  },
});
