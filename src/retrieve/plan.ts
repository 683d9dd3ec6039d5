import type { SymbolAt } from "../symbols/graph.ts";
import type { ChunkKind } from "./chunk/chunk.ts";
import type { Answer, Retrieval } from "./engine.ts";
import { shapeOf } from "./rank/query-shape.ts";
import type { SearchScope, Snippet } from "./rank/search-request.ts";
import { namesInTitle } from "./report/name-mentions.ts";
import { isReport, readReport } from "./report/read-report.ts";
import { tokenize } from "./terms/tokenize.ts";

export interface PlannedSpan {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  /** What is defined there, or the headings above it. */
  readonly name: string;
  readonly score: number;
  /** Terms of the question that occur in it, as written in the question. */
  readonly matchedTerms: readonly string[];
  /** What else speaks for the file, where the question is a report: `defines Store`. */
  readonly reasons: readonly string[];
}

/** Where the answer to a question probably is, before anything is read. */
export interface RetrievalPlan {
  readonly spans: readonly PlannedSpan[];
  /** Definitions whose names occur in the question. */
  readonly symbols: readonly SymbolAt[];
  /** 0 to 1: how much of the question the spans cover; of a report, also how surely it points at them. */
  readonly confidence: number;
  /** Terms of the question that occur in no span; of a report, names in its title that nothing has. */
  readonly missing: readonly string[];
}

interface PlanRequest {
  readonly query: string;
  readonly scope: SearchScope;
  readonly k?: number | undefined;
  readonly pathGlob?: string | undefined;
  readonly language?: string | undefined;
  readonly kind?: ChunkKind | undefined;
}

const DEFAULT_SPANS = 8;
/** Spans are returned without text, so it costs the caller nothing; it is read to find the terms it contains. */
const READ_TOKENS = 100_000;
const MAX_SYMBOLS = 10;

/** The best spans count most: a term that only the eighth contains is hardly covered. */
const depthWeight = (rank: number): number => 1 / (1 + rank / 4);

const matchedTermsOf = (
  { path, name, text }: Snippet,
  wanted: ReadonlyMap<string, string>,
): readonly string[] => {
  const terms = new Set(tokenize(`${path} ${name} ${text}`));
  return [...wanted].filter(([term]) => terms.has(term)).map(([, written]) => written);
};

/** The terms of a question, each with the word as written. */
const queryTerms = (query: string): ReadonlyMap<string, string> => {
  const { stems } = shapeOf(query);
  const wanted = new Map<string, string>();
  for (const written of query.split(/[^\p{L}\p{N}_]+/u)) {
    for (const term of tokenize(written)) if (stems.has(term)) wanted.set(term, written);
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
  const terms = [...new Set(wanted.values())];
  const covered = terms.map((term) => {
    const rank = spans.findIndex((span) => span.matchedTerms.includes(term));
    return rank < 0 ? 0 : depthWeight(rank);
  });
  const coverage = terms.length === 0 ? 0.5 : covered.reduce((sum, one) => sum + one, 0) / terms.length;
  const named = namesAsked === 0 ? coverage : namesFound / namesAsked;
  return Math.round(100 * (0.7 * coverage + 0.3 * named)) / 100;
};

/** How surely a report points at the spans: a trace says where to look, whatever words its title has. */
const pointedAt = (snippets: readonly Snippet[]): number =>
  snippets.reduce((highest, { certainty = 0 }, rank) => Math.max(highest, depthWeight(rank) * certainty), 0);

/** The first snippet of each file. */
const distinctFiles = (snippets: readonly Snippet[]): readonly Snippet[] =>
  [...Map.groupBy(snippets, ({ path }) => path).values()].flatMap(([first]) => first ?? []);

/** Searches for a question and returns where its answer should be: spans, symbols, and how certain that is. */
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
  const isLong = isReport(query);
  // Of a report, its title is what a plan covers; the rest is evidence, of which no file has all.
  const report = isLong ? readReport(query) : undefined;
  const subject = report?.title ?? query;
  const wanted = queryTerms(subject);
  const snippets = isLong ? distinctFiles(answer.value) : answer.value;
  const spans = snippets.map((snippet) => {
    const { path, startLine, endLine, name, score, reasons = [] } = snippet;
    return { path, startLine, endLine, name, score, matchedTerms: matchedTermsOf(snippet, wanted), reasons };
  });
  const names = report === undefined ? [...shapeOf(subject).names.values()] : namesInTitle(report);
  const found: SymbolAt[] = [];
  const unknown: string[] = [];
  const asked = names.slice(0, MAX_SYMBOLS);
  for (const name of asked) {
    const { candidates } = (await engine.inspect(name, { mentions: false }, signal)).value;
    if (candidates.length === 0) unknown.push(name);
    found.push(...candidates.slice(0, 3));
  }
  const covered = new Set(spans.flatMap(({ matchedTerms }) => matchedTerms));
  return {
    ...answer,
    value: {
      spans,
      symbols: found.slice(0, MAX_SYMBOLS),
      confidence: Math.max(
        confidenceOf(spans, wanted, asked.length - unknown.length, asked.length),
        Math.round(100 * pointedAt(snippets)) / 100,
      ),
      missing: [...new Set(isLong ? unknown : wanted.values())].filter((term) => !covered.has(term)),
    },
  };
};
