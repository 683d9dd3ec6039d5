import type { Inspection, SymbolAt, SymbolCard } from "../symbols/graph.ts";
import { type BootloadRequest, type BootPlan, writeBootPlan } from "./bootload.ts";
import type { ChunkKind } from "./chunk/chunk.ts";
import type { Answer, Retrieval, SearchAnswer } from "./engine.ts";
import type { IndexProgress } from "./index/index-status.ts";
import { planRetrieval, type RetrievalPlan } from "./plan.ts";
import type { Scope, SearchRequest, SearchScope, Snippet } from "./rank/search-request.ts";
import { searchInTime } from "./search-in-time.ts";

/** What a caller asks for; what is left out comes from the configuration. */
export interface FindRequest {
  readonly query: string;
  readonly scope?: Scope | undefined;
  readonly k?: number | undefined;
  readonly budgetTokens?: number | undefined;
  readonly pathGlob?: string | undefined;
  readonly language?: string | undefined;
  readonly kind?: ChunkKind | undefined;
}

/** Limits that no caller can exceed (REQ-D20), and the scope of a question that names none. */
export interface FindLimits {
  readonly topK: number;
  readonly tokenBudget: number;
  readonly defaultScope: Scope;
}

export interface Neighbours {
  /** What the snippet shows, where the graph knows it. */
  readonly symbol: SymbolAt | undefined;
  readonly parents: readonly SymbolAt[];
  readonly callers: readonly SymbolAt[];
  readonly callees: readonly SymbolAt[];
  readonly tests: readonly { readonly path: string; readonly line: number }[];
}

export interface EnrichedSnippet extends Snippet {
  readonly neighbours: Neighbours;
}

/** Retrieval as callers use it: within the configured limits, with answers that combine several questions. */
export interface CallerRetrieval
  extends Pick<Retrieval, "whereUsed" | "lineage" | "inspect" | "stats" | "index"> {
  find(
    request: FindRequest,
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<Answer<readonly Snippet[]>>;
  findEnriched(
    request: FindRequest,
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<Answer<readonly EnrichedSnippet[]>>;
  plan(request: FindRequest, signal?: AbortSignal): Promise<Answer<RetrievalPlan>>;
  bootload(request: BootloadRequest, signal?: AbortSignal): Promise<BootPlan>;
}

interface CallerRetrievalParts {
  readonly engine: Retrieval;
  readonly limits: () => FindLimits;
  /** Text of a workspace file, read through the caller's own file port; undefined where it cannot be read. */
  readonly readText: (path: string, signal?: AbortSignal) => Promise<string | undefined>;
  readonly countTokens: () => Promise<(text: string) => number>;
}

const NO_NEIGHBOURS: Neighbours = { symbol: undefined, parents: [], callers: [], callees: [], tests: [] };

/** For more neighbours than this, `rag_lineage` is the better tool. */
const MAX_NEIGHBOURS = 5;

const cardOf = ({ symbols }: Inspection, { path, startLine, endLine }: Snippet): SymbolCard | undefined =>
  symbols.find(
    ({ definition }) =>
      definition.path === path && definition.line >= startLine && definition.line <= endLine,
  );

const neighboursOf = (card: SymbolCard | undefined): Neighbours =>
  card === undefined
    ? NO_NEIGHBOURS
    : {
        symbol: card.definition,
        parents: card.parents.slice(0, MAX_NEIGHBOURS),
        callers: card.callers.slice(0, MAX_NEIGHBOURS),
        callees: card.callees.slice(0, MAX_NEIGHBOURS),
        tests: card.tests.slice(0, MAX_NEIGHBOURS),
      };

/** What a caller could ask with to get more than this. */
const moreBy = ({ scope, pathGlobs, language, kind }: SearchRequest): string => {
  const filters = [
    ...(pathGlobs === undefined ? [] : ["path_glob"]),
    ...(language === undefined ? [] : ["language"]),
    ...(kind === undefined ? [] : ["kind"]),
  ];
  return [
    "other words or a name from the code",
    ...(scope === "both" ? [] : ["scope both"]),
    ...(filters.length === 0 ? [] : [`a search without ${filters.join(", ")}`]),
  ].join(", or ");
};

/** Why there are fewer snippets than asked for, and what would bring more. */
const explainEnd = (
  searched: SearchRequest,
  { k, budgetTokens: askedTokens = 0 }: FindRequest,
  { value, end, index }: SearchAnswer,
  { tokenBudget }: FindLimits,
): readonly string[] => {
  if (end === "full") return [];
  const found = `${value.length} of ${searched.k}`;
  if (end === "budget") {
    const { budgetTokens } = searched;
    // Then a note says so already.
    if (askedTokens > tokenBudget) return [];
    const more =
      budgetTokens < tokenBudget
        ? `budget_tokens up to ${tokenBudget} brings more`
        : "the operator can raise mcp.rag.token_budget";
    return [`${found}: the budget of ${budgetTokens} tokens is used up; ${more}.`];
  }
  // What is not indexed yet may be what was asked for; a note says so already.
  if (value.length === 0 && index.state === "building") return [];
  if (value.length === 0) return [`Nothing relevant was found. Try ${moreBy(searched)}.`];
  // Who asked for no number gets what there is.
  if (k === undefined) return [];
  const why = end === "all" ? "nothing else was searched" : "nothing else is relevant enough";
  return [`${found}: ${why}. For more, try ${moreBy(searched)}.`];
};

/** A question that names no scope, where code is what is usually asked for. */
const scopeOf = ({ scope }: FindRequest, { defaultScope }: FindLimits): SearchScope =>
  scope ?? (defaultScope === "repo" ? "auto" : defaultScope);

export const createCallerRetrieval = (parts: CallerRetrievalParts): CallerRetrieval => {
  const engine: Retrieval = { ...parts.engine, search: searchInTime(parts.engine) };
  const { whereUsed, lineage, inspect, stats, index } = engine;

  const capped = ({ k, budgetTokens }: FindRequest, { topK, tokenBudget }: FindLimits): readonly string[] => [
    ...(k !== undefined && k > topK ? [`k is held to ${topK} (mcp.rag.top_k).`] : []),
    ...(budgetTokens !== undefined && budgetTokens > tokenBudget
      ? [`The budget is held to ${tokenBudget} tokens (mcp.rag.token_budget).`]
      : []),
  ];

  const find: CallerRetrieval["find"] = async (request, signal, onProgress) => {
    const limits = parts.limits();
    const { query, k, budgetTokens, pathGlob, language, kind } = request;
    const asked = {
      query,
      scope: scopeOf(request, limits),
      k: Math.min(k ?? limits.topK, limits.topK),
      budgetTokens: Math.min(budgetTokens ?? limits.tokenBudget, limits.tokenBudget),
      ...(pathGlob === undefined ? {} : { pathGlobs: [pathGlob] }),
      ...(language === undefined ? {} : { language }),
      ...(kind === undefined ? {} : { kind }),
    };
    const answer = await engine.search(asked, signal, onProgress);
    return {
      ...answer,
      notes: [...answer.notes, ...capped(request, limits), ...explainEnd(asked, request, answer, limits)],
    };
  };

  return {
    find,
    findEnriched: async (request, signal, onProgress) => {
      const answer = await find(request, signal, onProgress);
      const value: EnrichedSnippet[] = [];
      for (const snippet of answer.value) {
        const inspection =
          snippet.name === ""
            ? undefined
            : (await engine.inspect(snippet.name, { mentions: false }, signal)).value;
        const card = inspection === undefined ? undefined : cardOf(inspection, snippet);
        value.push({ ...snippet, neighbours: neighboursOf(card) });
      }
      return { ...answer, value };
    },
    plan: (request, signal) =>
      planRetrieval({ ...request, scope: scopeOf(request, parts.limits()) }, engine, signal),
    bootload: async (request, signal) =>
      writeBootPlan(
        request,
        {
          engine,
          readText: parts.readText,
          countTokens: await parts.countTokens(),
          budgetTokens: parts.limits().tokenBudget,
        },
        signal,
      ),
    whereUsed,
    lineage,
    inspect,
    stats,
    index,
  };
};
