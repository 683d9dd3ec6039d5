import { LlmcError, toLlmcError } from "../base/error.ts";
import { createHistory } from "../host/history/history.ts";
import { type EmbedderFiles, readEmbedderFiles } from "../host/os/assets.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import type { Unread } from "../host/read/unread.ts";
import { createIndexDb } from "../host/state/index-db.ts";
import type { Graph } from "../symbols/graph.ts";
import type { EmbeddingModel } from "./embed/async-embedder.ts";
import { loadNearestRows } from "./embed/nearest-rows.ts";
import { createStaticEmbedder } from "./embed/static-embedder.ts";
import type { Answer, Retrieval } from "./engine.ts";
import { createBatchIndexer } from "./index/batch-indexer.ts";
import { createBuildLease } from "./index/build-lease.ts";
import { checkFilters } from "./index/check-filters.ts";
import { createCurrentLines } from "./index/current-lines.ts";
import { createFileCentrality } from "./index/file-centrality.ts";
import { createFileIndexer } from "./index/file-indexer.ts";
import { createFreshSearch } from "./index/fresh-search.ts";
import { createGraphAnswers } from "./index/graph-answers.ts";
import type { IndexState } from "./index/index-status.ts";
import { createIndexer, type Indexer } from "./index/indexer.ts";
import { leftOutOf } from "./index/left-out.ts";
import { createLoadedIndex } from "./index/loaded-index.ts";
import { createModelVectors, type ModelVectors } from "./index/model-vectors.ts";
import { createReportSearch } from "./index/report-search.ts";
import { INDEX_TABLES, indexVersion } from "./index/schema.ts";
import type { IndexSettings } from "./index/settings.ts";
import { formatCount, notesOnState } from "./index/state-notes.ts";
import { statsOf } from "./index/stats.ts";
import { createStore } from "./index/store.ts";
import { createVectorStore } from "./index/vector-store.ts";
import { createChunkIndex } from "./rank/chunk-index.ts";
import { MODEL_RANK_WEIGHTS, RANK_WEIGHTS } from "./rank/rank-weights.ts";
import type { EvidenceWeights } from "./report/evidence.ts";

export interface RetrievalOptions {
  /** Real path. */
  readonly workspace: string;
  /** The user's own folder for state. */
  readonly userState: string;
  /** Read on every call: the configuration can change while the server runs. */
  readonly settings: () => IndexSettings;
  readonly onWarning: (message: string) => void;
  /** By default, the built-in ones. */
  readonly embedderFiles?: EmbedderFiles;
  /** Computes the vectors instead of the built-in embedding. */
  readonly model?: EmbeddingModel | undefined;
  /** What each kind of evidence counts in the answer to a long question, read with each; by default, the built-in weights. */
  readonly evidenceWeights?: () => EvidenceWeights;
}

/**
 * What was changed together long ago may be apart today. A question spends no longer than this on commits that are new; the
 * next one goes on with them.
 */
const HISTORY = { maxCommits: 300, maxPaths: 20, cpuMs: 100, wallMs: 1000 };

const notesOnUnread = ({ total, first }: Unread): readonly string[] => {
  if (total === 0) return [];
  const more = total > first.length ? ", …" : "";
  const paths = total === 1 ? "path" : "paths";
  return [`${formatCount(total)} ${paths} could not be read and cannot be found: ${first.join(", ")}${more}`];
};

const open = async ({
  workspace,
  userState,
  settings,
  onWarning,
  embedderFiles = readEmbedderFiles(),
  model,
  evidenceWeights,
}: RetrievalOptions) => {
  const nearestRows = loadNearestRows();
  const embedder = createStaticEmbedder(embedderFiles);
  const { dimensions } = embedder;
  const db = createIndexDb({
    workspace,
    userState,
    tables: INDEX_TABLES,
    version: indexVersion(embedder.id),
    onWarning,
  });
  const store = createStore(db);
  const createChunks = () => createChunkIndex({ dimensions, nearestRows });
  const loaded = createLoadedIndex({ store, dimensions, hasModel: model !== undefined, createChunks });
  const files = createFileIndexer(workspace, embedder);
  const batches = createBatchIndexer(workspace, embedderFiles, files);
  const lease = createBuildLease({ workspace, userState }, onWarning);
  const indexer = createIndexer({ workspace, settings, store, loaded, files, batches, lease, onWarning });
  const lines = createCurrentLines(files, settings);
  const centrality = createFileCentrality({
    store,
    loaded,
    lines,
    isReady: () => indexer.state().state === "ready",
  });
  const vectorLease = model && createBuildLease({ workspace, userState }, onWarning, "index.db.vectors");
  const vectors =
    model &&
    createModelVectors({
      model,
      loaded,
      vectors: createVectorStore(db),
      indexer: files,
      settings,
      lease: () => (db.isKept() ? vectorLease : undefined),
      onWarning,
    });
  const graph = createGraphAnswers({ store, loaded, indexer, lines });
  const history = createHistory(HISTORY);
  const reports = createReportSearch({
    loaded,
    lines,
    askGraph: graph.askIndexed,
    history: () => history(files.reach(settings())),
    weights: evidenceWeights,
  });
  const common = { loaded, lines, centrality: centrality.of, readQuestion: reports.readQuestion };
  const search =
    vectors === undefined
      ? createFreshSearch({ ...common, indexer, embedQuery: embedder.embedQuery, weights: RANK_WEIGHTS })
      : createFreshSearch({
          ...common,
          indexer: {
            refresh: async (paths, signal) => {
              const hasChanged = await indexer.refresh(paths, signal);
              await vectors.catchUp(signal);
              return hasChanged;
            },
          },
          embedQuery: vectors.embedQuery,
          weights: MODEL_RANK_WEIGHTS,
        });
  const close = async (): Promise<void> => {
    await centrality.close();
    await vectors?.close();
    await indexer.close();
    await batches.close();
    reports.close();
    files.close();
    lease.close();
    vectorLease?.close();
    db.close();
  };
  return {
    store,
    loaded,
    indexer,
    vectors,
    search,
    centrality,
    askGraph: graph.ask,
    embedderId: embedder.id,
    close,
  };
};

/** While vectors are missing, the index counts as being built. */
const stateOf = (state: IndexState, vectors: ModelVectors | undefined): IndexState => {
  const missing = vectors?.missing() ?? 0;
  return state.state === "ready" && missing > 0
    ? { state: "building", done: state.total - missing, total: state.total }
    : state;
};

const notesOnVectors = (state: IndexState, vectors: ModelVectors | undefined): readonly string[] => {
  const missing = vectors?.missing() ?? 0;
  return state.state === "ready" && missing > 0
    ? [
        `The vectors of ${formatCount(missing)} of ${formatCount(state.total)} files are still being computed; until then these are found by their terms only.`,
      ]
    : [];
};

/** The statistics of the index say why a model is missing. */
const nameOf = (vectors: ModelVectors): Promise<string> =>
  vectors.open().then(
    ({ id }) => id,
    (error: unknown) => `missing: ${toLlmcError(error).message.replace(/\.$/, "")}`,
  );

/** A database that turns out to be damaged is moved aside, so the second attempt succeeds. */
const retryOnce = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LlmcError && error.code === "unavailable" && error.retryable) return work();
    throw error;
  }
};

/** The whole engine in the calling thread, apart from indexing many files. Opens on first use. */
export const createLocalRetrieval = (options: RetrievalOptions): Retrieval => {
  let opening: ReturnType<typeof open> | undefined;
  const opened = (): ReturnType<typeof open> => {
    opening ??= open(options).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  const answer = <T>(value: T, indexer: Indexer, vectors?: ModelVectors): Answer<T> => {
    const index = indexer.state();
    return {
      value,
      index: stateOf(index, vectors),
      notes: [...notesOnState(index), ...notesOnVectors(index, vectors), ...notesOnUnread(indexer.unread())],
    };
  };

  const ask = async <T>(
    asked: string,
    question: (graph: Graph) => T,
    signal: AbortSignal | undefined,
  ): Promise<Answer<T>> => {
    const { indexer, loaded, askGraph } = await opened();
    return retryOnce(async () => {
      await indexer.catchUp(signal);
      const found = answer(await askGraph(question, signal), indexer);
      return { ...found, leftOut: leftOutOf(loaded.files, options.workspace, asked) };
    });
  };

  return {
    index: async ({ force = false }, signal, onProgress) => {
      const { indexer, vectors } = await opened();
      return retryOnce(async () => {
        const build = () => indexer.build(force, signal, onProgress);
        if (vectors === undefined) return build();
        // First, so that a missing model is reported at once.
        await vectors.open();
        const startedMs = performance.now();
        const report = await vectors.fillAfter(build, signal, onProgress);
        return { ...report, tookMs: performance.now() - startedMs };
      });
    },
    search: async (request, signal, onProgress) => {
      const { indexer, vectors, search, centrality, loaded } = await opened();
      // Loaded while the index catches up; indexing itself does not need it.
      void tokenCounter().catch(() => {});
      const find = async () => {
        if (vectors !== undefined) await vectors.open();
        await indexer.catchUp(signal, onProgress);
        if (vectors !== undefined) await vectors.catchUp(signal);
        const checked = checkFilters(request, loaded.files, indexer.state());
        const { snippets, end } = await search(checked, signal);
        return { ...answer(snippets, indexer, vectors), end };
      };
      return retryOnce(() => centrality.yieldTo(find));
    },
    stats: async (signal) => {
      const { indexer, loaded, store, vectors, embedderId } = await opened();
      await retryOnce(() => indexer.catchUp(signal));
      return {
        ...statsOf(loaded.files),
        chunks: loaded.chunks.size,
        unread: indexer.unread(),
        index: stateOf(indexer.state(), vectors),
        embedder: vectors === undefined ? embedderId : await nameOf(vectors),
        scannedMs: store.scannedMs(),
        isWatching: indexer.isWatching(),
        isKept: store.db.isKept(),
      };
    },
    whereUsed: (symbol, options, signal) => ask(symbol, (graph) => graph.whereUsed(symbol, options), signal),
    lineage: (symbol, options, signal) => ask(symbol, (graph) => graph.lineage(symbol, options), signal),
    inspect: (symbolOrPath, options, signal) =>
      ask(symbolOrPath, (graph) => graph.inspect(symbolOrPath, options), signal),
    close: async () => {
      const parts = await opening?.catch(() => undefined);
      opening = undefined;
      if (parts === undefined) await options.model?.close();
      else await parts.close();
    },
  };
};
