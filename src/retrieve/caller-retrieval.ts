import type {
  Inspection,
  Lineage,
  LineageOptions,
  SymbolAt,
  SymbolCard,
  UsageOptions,
  Usages,
} from "../symbols/graph.ts";
import { type BootloadRequest, type BootPlan, writeBootPlan } from "./bootload.ts";
import type { ChunkKind } from "./chunk/chunk.ts";
import type { Answer, Retrieval } from "./engine.ts";
import type { IndexProgress, IndexReport, IndexStats } from "./index/index-status.ts";
import { planRetrieval, type RetrievalPlan } from "./plan.ts";
import type { Scope, Snippet } from "./rank/search-request.ts";

/** What a caller asks for, in the caller's words; what is left out comes from the configuration. */
export interface FindRequest {
  readonly query: string;
  readonly scope?: Scope | undefined;
  readonly k?: number | undefined;
  readonly budgetTokens?: number | undefined;
  readonly pathGlob?: string | undefined;
  readonly language?: string | undefined;
  readonly kind?: ChunkKind | undefined;
}

/** Bounds that no caller passes (REQ-D20). */
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

/** Retrieval as callers reach it: within the configured bounds, with the answers that need several questions. */
export interface CallerRetrieval {
  find(request: FindRequest, signal?: AbortSignal): Promise<Answer<readonly Snippet[]>>;
  findEnriched(request: FindRequest, signal?: AbortSignal): Promise<Answer<readonly EnrichedSnippet[]>>;
  plan(request: FindRequest, signal?: AbortSignal): Promise<Answer<RetrievalPlan>>;
  bootload(request: BootloadRequest, signal?: AbortSignal): Promise<BootPlan>;
  whereUsed(symbol: string, options: UsageOptions, signal?: AbortSignal): Promise<Answer<Usages>>;
  lineage(symbol: string, options: LineageOptions, signal?: AbortSignal): Promise<Answer<Lineage>>;
  inspect(symbolOrPath: string, signal?: AbortSignal): Promise<Answer<Inspection>>;
  stats(signal?: AbortSignal): Promise<IndexStats>;
  index(
    request: { readonly force?: boolean },
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<IndexReport>;
}

interface CallerRetrievalParts {
  readonly engine: Retrieval;
  readonly limits: () => FindLimits;
  /** Text of a workspace file, through the caller's own file port; undefined where there is none to read. */
  readonly readText: (path: string, signal?: AbortSignal) => Promise<string | undefined>;
  readonly countTokens: () => Promise<(text: string) => number>;
}

const NONE: Neighbours = { symbol: undefined, parents: [], callers: [], callees: [], tests: [] };

/** More neighbours than this tell a model nothing that `rag_lineage` would not tell better. */
const MAX_NEIGHBOURS = 5;

const cardOf = ({ symbols }: Inspection, { path, startLine, endLine }: Snippet): SymbolCard | undefined =>
  symbols.find(
    ({ definition }) =>
      definition.path === path && definition.line >= startLine && definition.line <= endLine,
  );

const neighboursOf = (card: SymbolCard | undefined): Neighbours =>
  card === undefined
    ? NONE
    : {
        symbol: card.definition,
        parents: card.parents.slice(0, MAX_NEIGHBOURS),
        callers: card.callers.slice(0, MAX_NEIGHBOURS),
        callees: card.callees.slice(0, MAX_NEIGHBOURS),
        tests: card.tests.slice(0, MAX_NEIGHBOURS),
      };

export const createCallerRetrieval = (parts: CallerRetrievalParts): CallerRetrieval => {
  const { engine } = parts;

  const capped = ({ k, budgetTokens }: FindRequest, { topK, tokenBudget }: FindLimits): readonly string[] => [
    ...(k !== undefined && k > topK ? [`k is held to ${topK} (mcp.rag.top_k).`] : []),
    ...(budgetTokens !== undefined && budgetTokens > tokenBudget
      ? [`The budget is held to ${tokenBudget} tokens (mcp.rag.token_budget).`]
      : []),
  ];

  const find: CallerRetrieval["find"] = async (request, signal) => {
    const limits = parts.limits();
    const { query, scope, k, budgetTokens, pathGlob, language, kind } = request;
    const answer = await engine.search(
      {
        query,
        scope: scope ?? limits.defaultScope,
        k: Math.min(k ?? limits.topK, limits.topK),
        budgetTokens: Math.min(budgetTokens ?? limits.tokenBudget, limits.tokenBudget),
        ...(pathGlob === undefined ? {} : { pathGlobs: [pathGlob] }),
        ...(language === undefined ? {} : { language }),
        ...(kind === undefined ? {} : { kind }),
      },
      signal,
    );
    return { ...answer, notes: [...answer.notes, ...capped(request, limits)] };
  };

  return {
    find,
    findEnriched: async (request, signal) => {
      const answer = await find(request, signal);
      const value: EnrichedSnippet[] = [];
      for (const snippet of answer.value) {
        const inspection =
          snippet.name === "" ? undefined : (await engine.inspect(snippet.name, signal)).value;
        const card = inspection === undefined ? undefined : cardOf(inspection, snippet);
        value.push({ ...snippet, neighbours: neighboursOf(card) });
      }
      return { ...answer, value };
    },
    plan: (request, signal) =>
      planRetrieval({ ...request, scope: request.scope ?? parts.limits().defaultScope }, engine, signal),
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
    whereUsed: (symbol, options, signal) => engine.whereUsed(symbol, options, signal),
    lineage: (symbol, options, signal) => engine.lineage(symbol, options, signal),
    inspect: (symbolOrPath, signal) => engine.inspect(symbolOrPath, signal),
    stats: (signal) => engine.stats(signal),
    index: (request, signal, onProgress) => engine.index(request, signal, onProgress),
  };
};
