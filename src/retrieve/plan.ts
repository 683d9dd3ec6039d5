import type { SymbolAt } from "../symbols/graph.ts";
import type { ChunkKind } from "./chunk/chunk.ts";
import type { Answer, Retrieval } from "./engine.ts";
import { shapeOf } from "./rank/query-shape.ts";
import type { Scope, Snippet } from "./rank/search-request.ts";
import { tokenize } from "./terms/tokenize.ts";

export interface PlannedSpan {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** What is defined there, or the headings above it. */
  readonly name: string;
  readonly score: number;
  /** Words of the question that it has. */
  readonly words: readonly string[];
}

/** Where to look for an answer, before anything is read. */
export interface RetrievalPlan {
  readonly spans: readonly PlannedSpan[];
  /** Definitions whose names the question spells out. */
  readonly symbols: readonly SymbolAt[];
  /** 0 to 1: how much of the question the spans cover. */
  readonly confidence: number;
  /** Words of the question that no span has. */
  readonly missing: readonly string[];
}

interface PlanRequest {
  readonly query: string;
  readonly scope: Scope;
  readonly k?: number | undefined;
  readonly pathGlob?: string | undefined;
  readonly language?: string | undefined;
  readonly kind?: ChunkKind | undefined;
}

const DEFAULT_SPANS = 8;
/** Spans are named, not shown, so their text costs the caller nothing; it is read to see what it covers. */
const READ_TOKENS = 100_000;
const MAX_SYMBOLS = 10;

/** The best spans count most: a word that only the eighth has is hardly covered. */
const depthWeight = (rank: number): number => 1 / (1 + rank / 4);

const wordsIn = ({ path, name, text }: Snippet, wanted: ReadonlyMap<string, string>): readonly string[] => {
  const terms = new Set(tokenize(`${path} ${name} ${text}`));
  return [...wanted].filter(([term]) => terms.has(term)).map(([, word]) => word);
};

/** The words of a question by the term that stands for each. */
const wantedWords = (query: string): ReadonlyMap<string, string> => {
  const { words } = shapeOf(query);
  const wanted = new Map<string, string>();
  for (const word of query.split(/[^\p{L}\p{N}_]+/u)) {
    for (const term of tokenize(word)) if (words.has(term)) wanted.set(term, word);
  }
  return wanted;
};

const confidenceOf = (
  spans: readonly PlannedSpan[],
  wanted: ReadonlyMap<string, string>,
  namesFound: number,
  namesAsked: number,
): number => {
  if (spans.length === 0) return 0;
  const words = [...new Set(wanted.values())];
  const covered = words.map((word) => {
    const rank = spans.findIndex((span) => span.words.includes(word));
    return rank < 0 ? 0 : depthWeight(rank);
  });
  const coverage = words.length === 0 ? 0.5 : covered.reduce((sum, one) => sum + one, 0) / words.length;
  const named = namesAsked === 0 ? coverage : namesFound / namesAsked;
  return Math.round(100 * (0.7 * coverage + 0.3 * named)) / 100;
};

/** Looks a question up and says where its answer should be: spans, symbols, and how sure that is. */
export const planRetrieval = async (
  { query, scope, k, pathGlob, language, kind }: PlanRequest,
  engine: Retrieval,
  signal?: AbortSignal,
): Promise<Answer<RetrievalPlan>> => {
  const answer = await engine.search(
    {
      query,
      scope,
      k: k ?? DEFAULT_SPANS,
      budgetTokens: READ_TOKENS,
      ...(pathGlob === undefined ? {} : { pathGlobs: [pathGlob] }),
      ...(language === undefined ? {} : { language }),
      ...(kind === undefined ? {} : { kind }),
    },
    signal,
  );
  const wanted = wantedWords(query);
  const spans = answer.value.map((snippet) => {
    const { path, startLine, endLine, name, score } = snippet;
    return { path, startLine, endLine, name, score, words: wordsIn(snippet, wanted) };
  });
  const names = [...shapeOf(query).names.values()];
  const found: SymbolAt[] = [];
  let namesFound = 0;
  for (const name of names.slice(0, MAX_SYMBOLS)) {
    const { candidates } = (await engine.inspect(name, signal)).value;
    if (candidates.length > 0) namesFound++;
    found.push(...candidates.slice(0, 3));
  }
  const covered = new Set(spans.flatMap(({ words }) => words));
  return {
    ...answer,
    value: {
      spans,
      symbols: found.slice(0, MAX_SYMBOLS),
      confidence: confidenceOf(spans, wanted, namesFound, names.length),
      missing: [...new Set(wanted.values())].filter((word) => !covered.has(word)),
    },
  };
};
