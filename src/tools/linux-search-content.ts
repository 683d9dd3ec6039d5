import { z } from "zod";
import { defineTool } from "./tool.ts";
import { renderUnread, toUnread, unreadShape } from "./unread.ts";

interface Hit {
  readonly path: string;
  readonly line: number;
  readonly snippet: string;
  readonly first_line: number;
}

/** `12:the hit`, `13-its context`: the path once, then its lines. */
const renderHit = ({ line, snippet, first_line }: Hit): string[] =>
  snippet.split("\n").map((text, i) => `${first_line + i}${first_line + i === line ? ":" : "-"}${text}`);

const renderHits = (hits: readonly Hit[]): string[] => {
  const lines: string[] = [];
  let path: string | undefined;
  let shownTo = 0;
  for (const hit of hits) {
    const isNewFile = hit.path !== path;
    if (isNewFile) lines.push(hit.path);
    const rendered = renderHit(hit);
    const isGap = !isNewFile && hit.first_line > shownTo + 1 && rendered.length > 1;
    if (isGap) lines.push("--");
    // Overlapping contexts are shown once; a context line that is itself a hit is marked as one.
    const overlap = isNewFile ? 0 : Math.max(0, shownTo - hit.first_line + 1);
    const own = hit.line - hit.first_line;
    if (own < overlap) lines[lines.length - overlap + own] = rendered[own] ?? "";
    lines.push(...rendered.slice(overlap));
    path = hit.path;
    shownTo = Math.max(isNewFile ? 0 : shownTo, hit.first_line + rendered.length - 1);
  }
  return lines;
};

export const linuxSearchContent = defineTool({
  name: "linux_search_content",
  description: "Search file contents by regex or literal text.",
  effect: "read",
  pathArgument: "root",
  backend: "the search program",
  input: z.strictObject({
    root: z.string().min(1).default("."),
    pattern: z.string().min(1),
    file_glob: z.string().min(1).nullish(),
    literal: z.boolean().default(false),
    ignore_case: z.boolean().default(true),
    context_lines: z.int().min(0).max(10).default(3),
    max_results: z.int().min(1).max(1000).default(100),
    no_ignore: z.boolean().default(false).describe("also ignored and hidden files"),
  }),
  output: z.object({
    hits: z.array(z.object({ path: z.string(), line: z.int(), snippet: z.string(), first_line: z.int() })),
    total_hits: z.int(),
    truncated: z.boolean(),
    handle: z.string().nullable(),
    total_files: z.int(),
    /** False where counting stopped at the deadline or something could not be read: the totals are then lower bounds. */
    total_is_exact: z.boolean(),
    unread: unreadShape,
  }),
  run: async (args, { search }, { signal, caller }) => {
    const answer = await search.content(
      {
        root: args.root,
        pattern: args.pattern,
        fileGlob: args.file_glob ?? undefined,
        literal: args.literal,
        ignoreCase: args.ignore_case,
        ignoreFiles: !args.no_ignore,
        contextLines: args.context_lines,
        maxResults: args.max_results,
      },
      caller,
      signal,
    );
    return {
      hits: answer.hits.map(({ path, line, snippet, firstLine }) => ({
        path,
        line,
        snippet,
        first_line: firstLine,
      })),
      total_hits: answer.totalHits,
      truncated: answer.totalHits > answer.hits.length || !answer.exact,
      handle: answer.handle ?? null,
      total_files: answer.totalFiles,
      total_is_exact: answer.exact,
      ...toUnread(answer.unread),
    };
  },
  render: ({ hits, total_hits, total_files, truncated, total_is_exact, handle, unread }) => {
    if (hits.length === 0) {
      const isSure = total_hits === 0 && (total_is_exact || unread !== undefined);
      const head = isSure ? "[no hits]" : `[no hits shown of ${total_hits}]`;
      return [head, ...renderUnread(unread)].join("\n");
    }
    const total = `${total_is_exact ? "" : "over "}${total_hits}`;
    const rest = handle === null ? "" : `; all: handle:${handle}`;
    const footer = truncated ? [`[${hits.length} of ${total} hits in ${total_files} files${rest}]`] : [];
    return [...renderHits(hits), ...footer, ...renderUnread(unread)].join("\n");
  },
});
