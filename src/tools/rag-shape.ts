import { z } from "zod";
import type { Answer } from "../retrieve/engine.ts";
import type { IndexProgress } from "../retrieve/index/index-status.ts";
import type { Snippet } from "../retrieve/rank/search-request.ts";
import type { Mentions, SymbolAt } from "../symbols/graph.ts";
import type { CallContext } from "./contract.ts";

/** Schemas and texts that the retrieval tools share. */

/** A bug report with its traces (retrieve/report/read-report.ts reads as much). */
export const MAX_QUERY_CHARS = 32_768;

export const findInput = {
  query: z.string().min(1).max(MAX_QUERY_CHARS),
  scope: z.enum(["repo", "docs", "both"]).optional(),
  k: z.int().min(1).max(50).optional().describe("max snippets; held to mcp.rag.top_k (3 by default)"),
  budget_tokens: z
    .int()
    .min(1)
    .max(200_000)
    .optional()
    .describe("held to mcp.rag.token_budget (600 by default)"),
  path_glob: z.string().min(1).max(1024).optional(),
  language: z.string().min(1).max(40).optional(),
  kind: z.enum(["code", "prose", "data", "text"]).optional(),
};

interface FindArgs {
  readonly query: string;
  readonly scope?: "repo" | "docs" | "both" | undefined;
  readonly k?: number | undefined;
  readonly budget_tokens?: number | undefined;
  readonly path_glob?: string | undefined;
  readonly language?: string | undefined;
  readonly kind?: "code" | "prose" | "data" | "text" | undefined;
}

export const toFindRequest = ({ query, scope, k, budget_tokens, path_glob, language, kind }: FindArgs) => ({
  query,
  scope,
  k,
  budgetTokens: budget_tokens,
  pathGlob: path_glob,
  language,
  kind,
});

export const indexMeta = {
  /** `building`: files that are not indexed yet are missing. */
  index: z.enum(["ready", "building"]),
  notes: z.array(z.string()),
};

/** Of a question about one symbol or file. */
export const graphMeta = {
  ...indexMeta,
  suggestions: z.array(z.string()),
  /** Why nothing is known of the file that was asked about. */
  left_out: z.string().optional(),
};

interface GraphMeta {
  readonly suggestions: readonly string[];
  readonly left_out?: string | undefined;
}

export const toGraphMeta = (answer: Answer<{ readonly suggestions: readonly string[] }>) => ({
  ...toIndexMeta(answer),
  suggestions: [...answer.value.suggestions],
  ...(answer.leftOut === undefined ? {} : { left_out: answer.leftOut }),
});

export const toIndexMeta = ({ index, notes }: Answer<unknown>) => ({
  index: index.state,
  notes: [...notes],
});

export const snippetShape = {
  text: z.string(),
  /** `path#Lx-Ly`. */
  src: z.string(),
  /** Beside the others of the answer. */
  score: z.number(),
  /** By itself: how well it fits the question, 0 to 1. */
  relevance: z.number(),
  /** It goes on after its last line, beyond the token budget. */
  cut: z.boolean().optional(),
};

export const srcOf = ({
  path,
  startLine,
  endLine,
}: {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
}): string => `${path}#L${startLine}-L${endLine}`;

/** Below this, a snippet may have nothing to do with the question, and says how well it fits. */
const WEAK = 0.65;

const round = (score: number): number => Math.round(score * 1000) / 1000;

export const toSnippet = (snippet: Snippet) => ({
  text: snippet.text,
  src: srcOf(snippet),
  score: round(snippet.score),
  relevance: round(snippet.relevance),
  ...(snippet.cut ? { cut: true } : {}),
});

/** `src/a.ts#L1-L9`, how well it fits where that is little, then the lines. */
export const renderSnippet = ({
  src,
  relevance,
  text,
  cut = false,
}: {
  readonly src: string;
  readonly relevance: number;
  readonly text: string;
  readonly cut?: boolean | undefined;
}): string => {
  const head = relevance < WEAK ? `${src} (weak: ${relevance.toFixed(2)})` : src;
  const lastLine = src.slice(src.lastIndexOf("-L") + 2);
  return `${head}\n${text}${cut ? `\n[cut; it goes on at offset ${lastLine} of read_file]` : ""}`;
};

/** An empty answer is explained by its notes. */
const NOTHING = "[nothing found]";

/** While the index is being built, the first line says what is missing. */
export const renderAnswer = (
  { index, notes }: { readonly index: string; readonly notes: readonly string[] },
  body: readonly string[],
): string => {
  const [first, ...rest] = renderNotes(notes);
  if (first === undefined) return body.length === 0 ? NOTHING : body.join("\n");
  return (index === "building" ? [first, ...body, ...rest] : [...body, first, ...rest]).join("\n");
};

const PHASES = {
  wait: "another process is indexing",
  list: "listing files",
  index: "indexing",
  embed: "computing vectors",
};

/** Passes the progress of indexing on to the client. */
export const reportProgress =
  ({ progress }: Pick<CallContext, "progress">) =>
  ({ phase, done, total }: IndexProgress): void => {
    // A client that is gone is noticed elsewhere.
    progress(done, total > 0 ? total : undefined, PHASES[phase]).catch(() => {});
  };

export const symbolShape = z.object({
  name: z.string(),
  kind: z.string(),
  /** `path#Lx-Ly` of the whole definition. */
  src: z.string(),
  line: z.int(),
});

export const toSymbol = (symbol: SymbolAt) => ({
  name: symbol.qualified,
  kind: symbol.kind,
  src: srcOf(symbol),
  line: symbol.line,
});

/** `Store.open src/store.ts:12`: enough to read on. */
export const renderSymbol = ({ name, src, line }: z.infer<typeof symbolShape>): string =>
  `${name} ${src.slice(0, src.lastIndexOf("#"))}:${line}`;

export const renderNotes = (notes: readonly string[]): readonly string[] => notes.map((note) => `[${note}]`);

export const mentionsShape = z.object({
  /** Lines of code that have the name as a word, the resolved ones included. */
  total: z.int(),
  unresolved: z.int(),
  /** So many files have the name that not all of them were read. */
  more: z.boolean(),
  /** Files with unresolved lines. */
  files: z.array(z.object({ path: z.string(), count: z.int(), lines: z.array(z.int()) })),
});

export const toMentions = ({ total, unresolved, files, isCut }: Mentions): z.infer<typeof mentionsShape> => ({
  total,
  unresolved,
  more: isCut,
  files: files.map(({ path, count, lines }) => ({ path, count, lines: [...lines] })),
});

/** How many of the files that mention a name are shown; the rest is counted. */
const MAX_MENTIONED = 8;

/** `lib/reply.js 12, lib/route.js 3` with lines where nothing else says where to look. */
const renderFiles = ({ unresolved, files }: z.infer<typeof mentionsShape>, withLines: boolean): string => {
  const shown = files.slice(0, MAX_MENTIONED);
  const rest = unresolved - shown.reduce((sum, { count }) => sum + count, 0);
  const list = shown.map(({ path, count, lines }) =>
    withLines ? `${path}:${lines.join(",")}${count > lines.length ? ",…" : ""}` : `${path} ${count}`,
  );
  return [...list, ...(rest > 0 ? [`${rest} elsewhere`] : [])].join(", ");
};

const countOf = ({ total, more }: z.infer<typeof mentionsShape>): string =>
  `${total}${more ? " or more" : ""} mention${total === 1 && !more ? "" : "s"}`;

/** What the text has beyond what is resolved; nothing where all is. */
export const renderMentions = (
  resolved: number,
  mentions: z.infer<typeof mentionsShape>,
): readonly string[] =>
  mentions.unresolved === 0
    ? []
    : [
        `[${resolved} resolved, ${countOf(mentions)}; not resolved: ${renderFiles(mentions, resolved === 0)}]`,
      ];

/** A name that nothing defines, or nothing any more. */
export const renderUnknown = (
  { suggestions, left_out }: GraphMeta,
  mentions: z.infer<typeof mentionsShape>,
): string =>
  mentions.total === 0
    ? left_out === undefined
      ? `[nothing has this name${near(suggestions)}]`
      : `[${left_out}${near(suggestions)}]`
    : `[no definition; ${countOf(mentions)} in ${renderFiles(mentions, true)}${near(suggestions)}]`;

const near = (suggestions: readonly string[]): string =>
  suggestions.length === 0 ? "" : `; near: ${suggestions.join(", ")}`;
