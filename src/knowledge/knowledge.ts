import { LlmcError } from "../base/error.ts";
import type { Model } from "../llm/contract.ts";
import type { NearestRows } from "../retrieve/embed/nearest-rows.ts";
import { ANSWER_PASSAGES, answerFrom } from "./answer/answer.ts";
import { askInBatches } from "./answer/ask-in-batches.ts";
import { generateAnswer } from "./answer/generate.ts";
import { type AnswerCall, checkCollection, type KnowledgeCaller, mayRead } from "./api/caller.ts";
import type {
  Answer,
  AnswerRequest,
  Filters,
  Hit,
  ListedCollection,
  SearchRequest,
  Stats,
} from "./api/contract.ts";
import { checkName } from "./api/ids.ts";
import type { Knowledge } from "./api/port.ts";
import { askedGenerations, generationAnswering, generationIfAny, isOffered } from "./asked-generations.ts";
import { type Catalogue, createCatalogue, generationFor } from "./catalogue.ts";
import { composeFlow } from "./flows/compose-flow.ts";
import { type DeclaredFlow, flowsOver } from "./flows/flow.ts";
import { getDocument } from "./read-document.ts";
import { resolveCitations } from "./resolve-citations.ts";
import { hitOf } from "./search/cite.ts";
import { createLoadedGenerations, type LoadedGenerations } from "./search/loaded-generations.ts";
import type { PassageEmbedder } from "./search/passage-embedder.ts";
import { type Searched, searchGeneration } from "./search/search-generation.ts";
import { snippetsFor } from "./search/snippet.ts";
import { statsOf } from "./stats.ts";
import type { Generation, Store } from "./store/contract.ts";

/** Answers that are kept for a time. */
export interface HitCache {
  /** What is kept, unless it is older than the caller wants. */
  get(key: string, maxAgeMs: number): readonly Hit[] | undefined;
  set(key: string, hits: readonly Hit[], ttlMs: number): void;
}

export interface KnowledgeParts {
  readonly store: Store;
  readonly embedder: PassageEmbedder;
  readonly nearestRows: NearestRows | undefined;
  readonly cache: HitCache;
  /** For indexes in memory. */
  readonly maxIndexBytes: () => number;
  /** For searching all collections; what is not asked by then is left out, and the answer says so. */
  readonly maxAskMs: () => number;
  /** Opens the named model, or the configured one, if there is any, for answers in its own words; throws what the egress rules say. */
  readonly openModel: (name: string | undefined, call: AnswerCall) => Promise<Model | undefined>;
  readonly modelLimits: () => { readonly maxOutputTokens: number; readonly timeoutMs: number };
  /** The flows that are declared at the moment, those that cannot be used included. */
  readonly flows: () => readonly DeclaredFlow[] | Promise<readonly DeclaredFlow[]>;
  /** Names this process among those that share the store. */
  readonly holder: string;
  readonly newCode: () => string;
  /** Told why an index that was built could not be saved: then each start builds it again. */
  readonly onIndexNotSaved?: ((error: unknown) => void) | undefined;
  readonly now: () => number;
}

/** What tools ask, and what the operator's commands need besides: they may search generations that are not promoted. */
export interface KnowledgeEngine extends Knowledge {
  readonly store: Store;
  readonly embedder: PassageEmbedder;
  readonly catalogue: Catalogue;
  search(generation: Generation, query: string, limit: number): Promise<Searched>;
  /** Loads a generation before questions need it. */
  prepare(generation: Generation): Promise<void>;
  /** Gives up what nobody works on. */
  dropIdle(): Promise<void>;
  close(): Promise<void>;
}

/** As the published API keeps metadata. */
const DEFAULT_TTL_S = 300;

const MAX_ATTEMPTS = 3;

/** A generation that was garbage-collected between two steps has been replaced by another one. */
const retryBusy = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      const isPassing = thrown instanceof LlmcError && thrown.code === "busy" && thrown.retryable;
      if (!isPassing || attempt === MAX_ATTEMPTS) throw thrown;
    }
  }
};

interface Engine extends KnowledgeParts {
  readonly catalogue: Catalogue;
  readonly loaded: LoadedGenerations;
  search(generation: Generation, query: string, limit: number): Promise<Searched>;
}

const hybridSearch = (
  { catalogue, cache, loaded, search }: Engine,
  request: SearchRequest,
  caller: KnowledgeCaller,
): Promise<readonly Hit[]> => {
  const { query, top_k: limit, filters, cache_ttl: ttl = DEFAULT_TTL_S } = request;
  const name = checkName(request.collection);
  checkCollection(caller, name);
  return retryBusy(async () => {
    const generation = await generationAnswering(loaded, await catalogue.find(name), filters);
    if (generation === undefined) return [];
    // A promoted generation never changes, and its number is never used again.
    const key = `${generation.id}\0${limit}\0${query}`;
    const kept = ttl > 0 ? cache.get(key, ttl * 1000) : undefined;
    if (kept !== undefined) return kept;
    const { evidence } = await search(generation, query, limit);
    const snippetOf = snippetsFor(query);
    const hits = evidence.map(({ passage, ranked }) =>
      hitOf(passage, generation, ranked.score, snippetOf(passage.text)),
    );
    if (ttl > 0) cache.set(key, hits, ttl * 1000);
    return hits;
  });
};

const answer = async (
  engine: Engine,
  { query, filters, model: name }: AnswerRequest,
  call: AnswerCall,
): Promise<Answer> => {
  const { openModel, modelLimits, newCode, embedder, search, maxAskMs, now } = engine;
  const untilMs = now() + maxAskMs();
  const { caller, signal } = call;
  const model = await openModel(name, call);
  const compose =
    model &&
    ((evidence: Parameters<typeof generateAnswer>[1]) =>
      generateAnswer(query, evidence, { model, code: newCode(), ...modelLimits(), signal }));
  return retryBusy(async () => {
    const generations = await askedGenerations(engine, filters, caller);
    const asked = await askInBatches(
      generations,
      async (generation) => ({ generation, ...(await search(generation, query, ANSWER_PASSAGES)) }),
      { untilMs, now, signal },
    );
    const found = await answerFrom(query, asked, embedder.tables, compose);
    const left = generations.length - asked.length;
    return left === 0
      ? found
      : { ...found, meta: { collections_asked: asked.length, collections_left_out: left } };
  });
};

const listCollections = async (
  { catalogue, flows: declared }: Engine,
  filters: Filters | undefined,
  caller: KnowledgeCaller,
): Promise<readonly ListedCollection[]> => {
  const all = await declared();
  const isFiltered = filters !== undefined && Object.keys(filters).length > 0;
  return (await catalogue.list())
    .filter(({ name }) => mayRead(caller, name))
    .flatMap((collection): ListedCollection[] => {
      const version = isOffered(collection) ? generationIfAny(collection, filters)?.version : undefined;
      if (version === undefined && (isFiltered || isOffered(collection))) return [];
      const flows = flowsOver(all, collection.name);
      return [
        {
          name: collection.name,
          version: version ?? null,
          ...(collection.pinned === undefined ? {} : { pinned: true }),
          ...(flows.length === 0 ? {} : { flows }),
        },
      ];
    });
};

const stats = async (
  { catalogue, embedder }: Engine,
  request: { readonly collection?: string | undefined; readonly version?: string | undefined },
  caller: KnowledgeCaller,
): Promise<Stats> => {
  if (request.collection === undefined) {
    const open = (await catalogue.list()).filter(({ name }) => mayRead(caller, name));
    return statsOf(open, request.version, embedder.id);
  }
  const name = checkName(request.collection);
  checkCollection(caller, name);
  const collection = await catalogue.find(name);
  if (request.version !== undefined) generationFor(collection, { version: request.version });
  return statsOf([collection], request.version, embedder.id);
};

/** Everything that is asked of knowledge bases. What a caller may not read is refused before it is looked up. */
export const createKnowledge = (parts: KnowledgeParts): KnowledgeEngine => {
  const { store, embedder, nearestRows, holder, now } = parts;
  const catalogue = createCatalogue(store);
  const loaded = createLoadedGenerations({
    store,
    dimensions: embedder.dimensions,
    nearestRows,
    holder,
    now,
    maxBytes: parts.maxIndexBytes,
    onIndexNotSaved: parts.onIndexNotSaved,
    collections: catalogue.list,
  });
  const search: Engine["search"] = (generation, query, limit) =>
    searchGeneration({ store, loaded, embedder }, generation, query, limit);
  const engine: Engine = { ...parts, catalogue, loaded, search };
  return {
    // Each as a promise: what is refused before anything is awaited is a failure like all others.
    hybridSearch: async (request, caller) => hybridSearch(engine, request, caller),
    answer: async (request, call) => answer(engine, request, call),
    getDocument: async (request, caller) => getDocument(engine, request, caller),
    resolveCitations: async (ids, caller) => resolveCitations(engine, ids, caller),
    listCollections: async (filters, caller) => listCollections(engine, filters, caller),
    stats: async (request, caller) => stats(engine, request, caller),
    composeFlow: async (request, caller, steps) => composeFlow(await parts.flows(), request, caller, steps),
    store,
    embedder,
    catalogue,
    search,
    prepare: (generation) => loaded.use(generation, () => {}),
    dropIdle: loaded.dropIdle,
    close: async () => {
      await loaded.close();
      await store.close();
      await embedder.close();
    },
  };
};
