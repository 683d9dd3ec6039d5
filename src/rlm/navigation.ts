import { LlmcError } from "../base/error.ts";
import { ellipsize } from "../base/text.ts";
import type { OutlineEntry } from "../retrieve/chunk/outline.ts";
import { languageById } from "../syntax/languages.ts";
import type { Context, Passage, Span } from "./context.ts";
import { isLowSurrogate } from "./offsets.ts";
import { rankPassages } from "./passages.ts";

/** Looks for a pattern in time that grows with the text and not with the pattern; the wiring provides it. */
export type GrepText = (
  pattern: string,
  text: Iterable<Buffer>,
  maxHits: number,
  signal: AbortSignal,
) => Promise<{
  readonly hits: readonly { readonly line: number; readonly byte: number }[];
  readonly total: number;
}>;

export interface OutlinedSymbol extends Span {
  readonly name: string;
  readonly line: number;
  readonly depth: number;
}

const MAX_HITS = 1000;
const MAX_LINE_CHARS = 300;
const MAX_RANKED = 50;
const MAX_OUTLINE = 2000;
/** Parsed in the thread that answers all calls, so it must not take long. */
const OUTLINE_LIMITS = { maxChars: 500_000, timeoutMs: 500 };

/** Where a byte of a line is in its text. */
const charOfByte = (line: string, byte: number): number =>
  Buffer.byteLength(line) === line.length
    ? byte
    : Buffer.from(line).subarray(0, byte).toString("utf8").length;

/** A line in which a pattern was found; of a long one, the part around the match. */
export interface Hit extends Passage {
  /** Where the match begins. */
  readonly match: number;
}

/** Positions are never inside a surrogate pair, because programs cut the context there. */
const passageAround = ({ text }: Context, line: Span, match: number): Span & { readonly text: string } => {
  const isLong = line.end - line.start > MAX_LINE_CHARS;
  const from = isLong ? Math.max(line.start, match - MAX_LINE_CHARS / 3) : line.start;
  const to = Math.min(line.end, from + MAX_LINE_CHARS);
  const start = from > line.start && isLowSurrogate(text.charCodeAt(from)) ? from + 1 : from;
  const end = to < line.end && isLowSurrogate(text.charCodeAt(to)) ? to - 1 : to;
  return { start, end, text: text.slice(start, end).toWellFormed() };
};

export const grepContext = async (
  context: Context,
  pattern: string,
  limit: number,
  grep: GrepText,
  signal: AbortSignal,
): Promise<{ readonly total: number; readonly hits: readonly Hit[] }> => {
  const { hits, total } = await grep(pattern, context.slices(), Math.min(limit, MAX_HITS), signal);
  return {
    total,
    hits: hits.map(({ line, byte }) => {
      const span = context.spanOfLine(line);
      const text = context.text.slice(span.start, span.end);
      const at = span.start + charOfByte(text, byte);
      return { line, match: at, ...passageAround(context, span, at) };
    }),
  };
};

export const rankContext = (
  context: Context,
  query: string,
  count: number,
  signal: AbortSignal,
): Promise<readonly (Passage & { readonly score: number })[]> =>
  rankPassages(context, query, Math.min(count, MAX_RANKED), signal);

type Entry = OutlineEntry;

/** Whether it is code that would have an outline, if it were shorter. */
export const isTooLongToOutline = ({ text, language }: Context): boolean =>
  text.length > OUTLINE_LIMITS.maxChars &&
  language !== undefined &&
  languageById(language).grammar !== undefined;

const refuseTooLong = (context: Context): void => {
  if (!isTooLongToOutline(context)) return;
  throw new LlmcError(
    "file_too_large",
    `Code of more than ${OUTLINE_LIMITS.maxChars} characters has no outline.`,
    { hint: "Use grep, or start an analysis of a part with rlm." },
  );
};

/** Parsed at most once for each context; a text that is no code, or too large to parse, has no outline. */
const outlines = new WeakMap<Context, Promise<readonly Entry[]>>();

const parseOutline = async ({ text, language: id }: Context): Promise<readonly Entry[]> => {
  if (id === undefined) return [];
  const [{ createParsers, PARSER_LIMITS }, { extractSymbols }, { symbolOutline }] = await Promise.all([
    import("../syntax/parsers.ts"),
    import("../symbols/extract-symbols.ts"),
    import("../retrieve/chunk/symbol-outline.ts"),
  ]);
  const language = languageById(id);
  if (language.grammar === undefined) return [];
  const parsers = await createParsers({ ...PARSER_LIMITS, ...OUTLINE_LIMITS });
  try {
    const { tree } = await parsers.parse(language.grammar, text);
    if (tree === undefined) return [];
    try {
      return symbolOutline(extractSymbols(tree, language, text));
    } finally {
      tree.delete();
    }
  } finally {
    parsers.close();
  }
};

const entriesOf = (context: Context): Promise<readonly Entry[]> => {
  const known = outlines.get(context) ?? parseOutline(context);
  outlines.set(context, known);
  return known;
};

const symbolOf = (context: Context, { qualified, depth, startRow, endRow }: Entry): OutlinedSymbol => ({
  name: qualified,
  depth,
  line: startRow + 1,
  start: context.spanOfLine(startRow + 1).start,
  end: context.spanOfLine(endRow + 1).end,
});

/** The definitions of a context that is code; empty for any other. */
export const outlineContext = async (context: Context): Promise<readonly OutlinedSymbol[]> =>
  (await entriesOf(context)).slice(0, MAX_OUTLINE).map((entry) => symbolOf(context, entry));

/** The same for a program, which gets an error if the context is too long for an outline. */
export const outlineForProgram = (context: Context): Promise<readonly OutlinedSymbol[]> => {
  refuseTooLong(context);
  return outlineContext(context);
};

/** A definition by its name, with its text. */
export const findSymbol = async (context: Context, name: string): Promise<OutlinedSymbol & Passage> => {
  refuseTooLong(context);
  const entries = await entriesOf(context);
  const found =
    entries.find(({ qualified }) => qualified === name) ?? entries.find((entry) => entry.name === name);
  if (found === undefined) {
    throw new LlmcError("text_not_found", `No definition is called ${ellipsize(name, 100)}.`, {
      hint: "outline() lists them.",
    });
  }
  const symbol = symbolOf(context, found);
  return { ...symbol, text: context.text.slice(symbol.start, symbol.end) };
};
