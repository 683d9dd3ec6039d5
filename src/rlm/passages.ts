import { LlmcError } from "../base/error.ts";
import { BM25_B, BM25_K1 } from "../retrieve/terms/bm25.ts";
import { tokenize } from "../retrieve/terms/tokenize.ts";
import type { Context, Passage, Span } from "./context.ts";

/** About a paragraph or a function. */
const PASSAGE_CHARS = 1500;
/** Everything is tokenized for each question, at some 10 MB a second. */
const MAX_CHARS = 64 * 1024 * 1024;
/** Between two pauses, in which the server answers others. */
const MAX_WORK_MS = 10;
/** A question has some ten; more are data. */
const MAX_TERMS = 1000;

/** Whole lines, up to the size of a passage; a longer line is cut. */
function* passagesOf({ text }: Context): Generator<Span> {
  for (let start = 0; start < text.length; ) {
    const limit = start + PASSAGE_CHARS;
    const lineEnd = limit >= text.length ? text.length : text.lastIndexOf("\n", limit) + 1;
    const end = lineEnd > start ? lineEnd : Math.min(limit, text.length);
    yield { start, end };
    start = end;
  }
}

interface Counted extends Span {
  readonly length: number;
  /** How often terms of the question occur, for those that do. */
  readonly counts: ReadonlyMap<number, number>;
}

const countTerms = (text: string, span: Span, numbers: ReadonlyMap<string, number>): Counted => {
  const counts = new Map<number, number>();
  const terms = tokenize(text.slice(span.start, span.end));
  for (const term of terms) {
    const number = numbers.get(term);
    if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  return { ...span, length: terms.length, counts };
};

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** BM25 of passages for a question, without an index: a context is asked a few times, and then forgotten. */
export const rankPassages = async (
  context: Context,
  query: string,
  count: number,
  signal: AbortSignal,
): Promise<readonly (Passage & { readonly score: number })[]> => {
  const { text } = context;
  if (text.length > MAX_CHARS) {
    throw new LlmcError("file_too_large", `The context is longer than ${MAX_CHARS} characters.`, {
      hint: "Use grep, or slice it and ask about the parts.",
    });
  }
  const terms = [...new Set(tokenize(query))].slice(0, MAX_TERMS);
  const numbers = new Map(terms.map((term, at) => [term, at] as const));
  const found: Counted[] = [];
  const holders = new Uint32Array(numbers.size);
  let [passages, totalLength] = [0, 0];
  let resumedAt = performance.now();
  for (const span of passagesOf(context)) {
    const counted = countTerms(text, span, numbers);
    totalLength += counted.length;
    for (const term of counted.counts.keys()) holders[term] = (holders[term] ?? 0) + 1;
    if (counted.counts.size > 0) found.push(counted);
    passages++;
    if (performance.now() - resumedAt < MAX_WORK_MS) continue;
    await breathe();
    signal.throwIfAborted();
    resumedAt = performance.now();
  }
  const averageLength = Math.max(1, totalLength / Math.max(1, passages));
  const scoreOf = ({ counts, length }: Counted): number =>
    [...counts]
      .toSorted(([a], [b]) => a - b)
      .reduce((sum, [term, times]) => {
        const holding = holders[term] ?? 0;
        const idf = Math.log(1 + (passages - holding + 0.5) / (holding + 0.5));
        const norm = BM25_K1 * (1 - BM25_B + (BM25_B * length) / averageLength);
        return sum + (idf * times * (BM25_K1 + 1)) / (times + norm);
      }, 0);
  return found
    .map(({ start, end, ...counted }) => ({ start, end, score: scoreOf({ start, end, ...counted }) }))
    .sort((a, b) => b.score - a.score || a.start - b.start)
    .slice(0, count)
    .map(({ start, end, score }) => ({
      start,
      end,
      line: context.lineAt(start),
      score: Math.round(score * 1000) / 1000,
      text: text.slice(start, end).toWellFormed(),
    }));
};
