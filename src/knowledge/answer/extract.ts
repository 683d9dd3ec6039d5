import { quoteLines } from "../../base/quote-document.ts";
import { cosineOf } from "../../retrieve/embed/search-rows.ts";
import { shapeOf } from "../../retrieve/rank/query-shape.ts";
import { tokenize } from "../../retrieve/terms/tokenize.ts";
import type { Citation } from "../api/contract.ts";
import { citationOf } from "../search/cite.ts";
import type { StaticTables } from "../search/passage-embedder.ts";
import type { Evidence } from "../search/search-generation.ts";
import { type Unit, unitsOf } from "./units.ts";

interface Candidate extends Unit {
  readonly evidence: Evidence;
  readonly position: number;
  readonly score: number;
  readonly terms: ReadonlySet<string>;
}

export interface Extract {
  /** Lines, each of which begins with the number of its citation: `1> text`. */
  readonly text: string;
  readonly citations: readonly Citation[];
}

const MAX_SENTENCES = 4;
const MIN_SENTENCE_CHARS = 20;
/** A further sentence must be at least this good, compared with the best. */
const WORTH_ADDING = 0.6;
/** Sentences that share more of their terms say the same. */
const SAME = 0.7;

const overlap = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const shared = [...a].filter((term) => b.has(term)).length;
  return shared / Math.max(1, Math.min(a.size, b.size));
};

const candidatesOf = (
  query: string,
  evidence: readonly Evidence[],
  tables: StaticTables,
): readonly Candidate[] => {
  const wanted = new Set(shapeOf(query).terms.keys());
  const vectors = tables.embedQuery(query);
  return evidence.flatMap((one) =>
    unitsOf(one.passage.text, one.passage.kind)
      .filter(({ text, needsHeading }) => needsHeading === true || text.length >= MIN_SENTENCE_CHARS)
      .map(({ text, isBlock, needsHeading }, position) => {
        // "Default: 5" answers a question about what its heading names.
        const judged = needsHeading === true ? `${one.passage.headings.at(-1) ?? ""} ${text}` : text;
        const terms = new Set(tokenize(judged));
        const matched = [...wanted].filter((term) => terms.has(term)).length / Math.max(1, wanted.size);
        const vector = tables.embedPassage(one.passage.kind, judged);
        const near = cosineOf(vector, vectors[one.ranked.table]);
        return { evidence: one, position, text, isBlock, terms, score: one.ranked.score * (matched + near) };
      }),
  );
};

/**
 * The best sentences of the passages, in the words of the documents, always. Those of one passage stand together, in its
 * order; passages in the order of their best sentence.
 */
const choose = (query: string, evidence: readonly Evidence[], tables: StaticTables): readonly Candidate[] => {
  const candidates = candidatesOf(query, evidence, tables).toSorted((a, b) => b.score - a.score);
  const best = candidates[0]?.score ?? 0;
  const chosen: Candidate[] = [];
  for (const candidate of candidates) {
    if (chosen.length === MAX_SENTENCES || candidate.score < WORTH_ADDING * best) break;
    if (chosen.some(({ terms }) => overlap(terms, candidate.terms) > SAME)) continue;
    chosen.push(candidate);
  }
  const found = [...Map.groupBy(chosen, (one) => one.evidence.passage).values()];
  return found.flatMap((ofOne) => ofOne.toSorted((a, b) => a.position - b.position));
};

/** What an answer quotes, as it stands in the documents. */
export const extractUnits = (
  query: string,
  evidence: readonly Evidence[],
  tables: StaticTables,
): readonly string[] => choose(query, evidence, tables).map(({ text }) => text);

/** A sentence is one line; a block keeps its lines. */
const quote = ({ text, isBlock }: Unit, citation: number): string =>
  quoteLines(isBlock ? text : text.replace(/\s+/g, " "), [citation]);

/** The same as an answer, each line with the number of its citation. */
export const extractAnswer = (
  query: string,
  evidence: readonly Evidence[],
  tables: StaticTables,
): Extract => {
  const chosen = choose(query, evidence, tables);
  const cited = [...new Map(chosen.map((one) => [one.evidence.passage, one.evidence])).values()];
  const numbers = new Map(cited.map(({ passage }, at) => [passage, at + 1]));
  return {
    text: chosen.map((one) => quote(one, numbers.get(one.evidence.passage) ?? 0)).join("\n"),
    citations: cited.map(({ passage, generation }) => citationOf(passage, generation)),
  };
};
