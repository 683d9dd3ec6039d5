import { withoutMarks } from "../../base/quote-document.ts";
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

const FENCED = /^[ \t]*(?:`{3}|~{3})/m;

/** A sentence is one line; a block keeps its lines, with the number below it. No other number in it is that of a citation. */
const quote = ({ text, isBlock, evidence }: Candidate, citation: number): Unit => {
  if (!isBlock) return { text: `${withoutMarks(text.replace(/\s+/g, " "))} [${citation}]`, isBlock };
  const isCode = evidence.passage.kind !== "prose" || FENCED.test(text);
  return { text: `${withoutMarks(text, isCode)}\n[${citation}]`, isBlock };
};

const joinUnits = (units: readonly Unit[]): string =>
  units.reduce((joined, { text, isBlock }, at) => {
    if (at === 0) return text;
    return `${joined}${isBlock || units[at - 1]?.isBlock ? "\n" : " "}${text}`;
  }, "");

/** The best sentences of the passages, each with the number of its citation; in the words of the documents, always. */
export const extractAnswer = (
  query: string,
  evidence: readonly Evidence[],
  tables: StaticTables,
): Extract => {
  const candidates = candidatesOf(query, evidence, tables).toSorted((a, b) => b.score - a.score);
  const best = candidates[0]?.score ?? 0;
  const chosen: Candidate[] = [];
  for (const candidate of candidates) {
    if (chosen.length === MAX_SENTENCES || candidate.score < WORTH_ADDING * best) break;
    if (chosen.some(({ terms }) => overlap(terms, candidate.terms) > SAME)) continue;
    chosen.push(candidate);
  }
  // Sentences of one passage stand together, in its order; passages in the order of their best sentence.
  const passages = [...new Set(chosen.map(({ evidence: { passage } }) => passage))];
  const citations = passages.map((passage) => {
    const generation = chosen.find(({ evidence: one }) => one.passage === passage)?.evidence.generation;
    return generation === undefined ? undefined : citationOf(passage, generation);
  });
  const text = joinUnits(
    passages.flatMap((passage, at) =>
      chosen
        .filter(({ evidence: one }) => one.passage === passage)
        .toSorted((a, b) => a.position - b.position)
        .map((one) => quote(one, at + 1)),
    ),
  );
  return { text, citations: citations.filter((one) => one !== undefined) };
};
