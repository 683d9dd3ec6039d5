import { createPace } from "../llm/pace.ts";
import { BM25_B, BM25_K1 } from "../retrieve/terms/bm25.ts";
import { tokenize } from "../retrieve/terms/tokenize.ts";
import type { Context, Passage, Span } from "./context.ts";

/** About a paragraph or a function. */
const PASSAGE_CHARS = 1500;
/** A question has some ten terms; more are data. So the counts of a passage take at most a quarter of its size. */
const MAX_TERMS = 100;

/** Whole lines, up to the size of a passage; a longer line is cut. */
function* passagesOf({ text }: Context): Generator<Span> {
  for (let start = 0; start < text.length; ) {
    const limit = start + PASSAGE_CHARS;
    // Looked for in the passage: in the whole text, each would go back to the beginning of a long line.
    const lastBreak = limit >= text.length ? -1 : text.slice(start, limit + 1).lastIndexOf("\n");
    const end = lastBreak < 0 ? Math.min(limit, text.length) : start + lastBreak + 1;
    yield { start, end };
    start = end;
  }
}

type Ranked = Span & { readonly score: number };

/**
 * Numbers before the terms of a passage: its start, its end, its length in terms, and how many terms of the question
 * follow.
 */
const HEADER = 4;
/** A term and how often it occurs are kept in one number; a passage has fewer characters than this. */
const COUNTS = 65_536;

/** What was counted, in a few bytes for each passage: a long text has hundreds of thousands. */
class Counts {
  #numbers = new Uint32Array(4096);
  #used = 0;

  add({ start, end }: Span, length: number, counts: ReadonlyMap<number, number>): void {
    const needed = this.#used + HEADER + counts.size;
    if (needed > this.#numbers.length) {
      const larger = new Uint32Array(Math.max(needed, Math.ceil(this.#numbers.length * 1.5)));
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    const terms = [...counts].toSorted(([a], [b]) => a - b);
    this.#numbers.set(
      [start, end, length, counts.size, ...terms.map(([term, times]) => term * COUNTS + times)],
      this.#used,
    );
    this.#used = needed;
  }

  *passages(): Generator<Span & { readonly length: number; readonly terms: Uint32Array }> {
    for (let at = 0; at < this.#used; ) {
      const [start = 0, end = 0, length = 0, count = 0] = this.#numbers.subarray(at, at + HEADER);
      yield { start, end, length, terms: this.#numbers.subarray(at + HEADER, at + HEADER + count) };
      at += HEADER + count;
    }
  }
}

/** The best so far, in order; of equal ones, those that come first in the text. */
class Best {
  readonly kept: Ranked[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(one: Ranked): void {
    if (this.kept.length >= this.#limit && one.score <= (this.kept.at(-1)?.score ?? 0)) return;
    const at = this.kept.findIndex(({ score }) => score < one.score);
    this.kept.splice(at < 0 ? this.kept.length : at, 0, one);
    if (this.kept.length > this.#limit) this.kept.pop();
  }
}

const countTerms = (terms: readonly string[], numbers: ReadonlyMap<string, number>) => {
  const counts = new Map<number, number>();
  for (const term of terms) {
    const number = numbers.get(term);
    if (number !== undefined) counts.set(number, (counts.get(number) ?? 0) + 1);
  }
  return counts;
};

/**
 * BM25 of passages for a question, without an index: a context is searched a few times and then forgotten. All of it is
 * tokenized for each question, piece by piece, at some 10 MB a second.
 */
export const rankPassages = async (
  context: Context,
  query: string,
  count: number,
  signal: AbortSignal,
): Promise<readonly (Passage & { readonly score: number })[]> => {
  const { text } = context;
  const terms = [...new Set(tokenize(query))].slice(0, MAX_TERMS);
  const numbers = new Map(terms.map((term, at) => [term, at] as const));
  const counted = new Counts();
  const holders = new Uint32Array(numbers.size);
  const pace = createPace(signal);
  let [passages, totalLength] = [0, 0];
  for (const span of passagesOf(context)) {
    const found = tokenize(text.slice(span.start, span.end));
    const counts = countTerms(found, numbers);
    totalLength += found.length;
    for (const term of counts.keys()) holders[term] = (holders[term] ?? 0) + 1;
    if (counts.size > 0) counted.add(span, found.length, counts);
    passages++;
    await pace();
  }
  const averageLength = Math.max(1, totalLength / Math.max(1, passages));
  const scoreOf = (found: Uint32Array, length: number): number =>
    found.reduce((sum, packed) => {
      const holding = holders[Math.floor(packed / COUNTS)] ?? 0;
      const times = packed % COUNTS;
      const idf = Math.log(1 + (passages - holding + 0.5) / (holding + 0.5));
      const norm = BM25_K1 * (1 - BM25_B + (BM25_B * length) / averageLength);
      return sum + (idf * times * (BM25_K1 + 1)) / (times + norm);
    }, 0);
  const best = new Best(count);
  for (const { start, end, length, terms: found } of counted.passages()) {
    best.add({ start, end, score: scoreOf(found, length) });
    await pace();
  }
  return best.kept.map(({ start, end, score }) => ({
    start,
    end,
    line: context.lineAt(start),
    score: Math.round(score * 1000) / 1000,
    text: text.slice(start, end).toWellFormed(),
  }));
};
