import { LlmcError } from "../base/error.ts";
import { tokenCounter } from "../base/tokens.ts";
import { type EmbedderFiles, readEmbedderFiles } from "../host/assets.ts";
import { createIndexDb } from "../host/index-db.ts";
import { loadNearestRows } from "./embed/nearest-rows.ts";
import { createStaticEmbedder } from "./embed/static-embedder.ts";
import type { Answer, IndexState, Retrieval } from "./engine.ts";
import type { Graph } from "./graph/graph.ts";
import { createBuildLease } from "./index/build-lease.ts";
import { createCurrentLines } from "./index/current-lines.ts";
import { createFreshSearch } from "./index/fresh-search.ts";
import { createGraphAnswers } from "./index/graph-answers.ts";
import { createKeeper } from "./index/keeper.ts";
import { createLoadedIndex } from "./index/loaded-index.ts";
import { createLooker } from "./index/look.ts";
import { createLookMany } from "./index/look-many.ts";
import { INDEX_TABLES, indexVersion } from "./index/schema.ts";
import type { IndexSettings } from "./index/settings.ts";
import { statsOf } from "./index/stats.ts";
import { createStore } from "./index/store.ts";
import { createChunkIndex } from "./rank/chunk-index.ts";

export interface RetrievalOptions {
  /** Real path. */
  readonly workspace: string;
  /** Asked on every call: configuration is hot. */
  readonly settings: () => IndexSettings;
  readonly onWarning: (message: string) => void;
  /** Left out: those that came with us. */
  readonly embedderFiles?: EmbedderFiles;
}

const count = (value: number): string => value.toLocaleString("en-US");

const notesOn = ({ state, done, total }: IndexState): readonly string[] => {
  if (state === "ready") return [];
  const howFar = total > 0 ? `${count(done)} of ${count(total)} files so far` : `${count(done)} files so far`;
  return [
    `The index is being built (${howFar}); what is not indexed yet is not found. Ask again in a moment.`,
  ];
};

const open = async ({
  workspace,
  settings,
  onWarning,
  embedderFiles = readEmbedderFiles(),
}: RetrievalOptions) => {
  const nearestRows = await loadNearestRows();
  const embedder = createStaticEmbedder(embedderFiles);
  const { dimensions } = embedder;
  const db = createIndexDb({
    workspace,
    tables: INDEX_TABLES,
    version: indexVersion(embedder.id),
    onWarning,
  });
  const store = createStore(db);
  const createChunks = () => createChunkIndex({ dimensions, nearestRows });
  const loaded = createLoadedIndex({ store, dimensions, createChunks });
  const looker = createLooker(workspace, embedderFiles);
  const lookMany = createLookMany(workspace, embedderFiles, looker);
  const lease = createBuildLease(workspace, onWarning);
  const keeper = createKeeper({ workspace, settings, store, loaded, looker, lookMany, lease, onWarning });
  const lines = createCurrentLines(looker, settings);
  const search = createFreshSearch({ loaded, keeper, lines, embedder });
  const askGraph = createGraphAnswers({ store, loaded, keeper, lines });
  return { db, store, loaded, looker, lookMany, lease, keeper, search, askGraph, embedderId: embedder.id };
};

/** A database that turns out to be damaged is put aside; then once more is enough. */
const orAgain = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LlmcError && error.code === "unavailable" && error.retryable) return work();
    throw error;
  }
};

/** The whole engine in the calling thread, apart from parsing many files. Opens on first use. */
export const createLocalRetrieval = (options: RetrievalOptions): Retrieval => {
  let opening: ReturnType<typeof open> | undefined;
  const opened = (): ReturnType<typeof open> => {
    opening ??= open(options).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  const answer = <T>(value: T, index: IndexState): Answer<T> => ({ value, index, notes: notesOn(index) });

  const ask = async <T>(
    question: (graph: Graph) => T,
    signal: AbortSignal | undefined,
  ): Promise<Answer<T>> => {
    const { keeper, askGraph } = await opened();
    return orAgain(async () => {
      await keeper.catchUp(signal);
      return answer(await askGraph(question, signal), keeper.state());
    });
  };

  return {
    index: async ({ force = false }, signal, onProgress) => {
      const { keeper } = await opened();
      return orAgain(() => keeper.build(force, signal, onProgress));
    },
    search: async (request, signal) => {
      const { keeper, search } = await opened();
      // Loaded while the index catches up; indexing itself needs no tokens.
      void tokenCounter().catch(() => {});
      return orAgain(async () => {
        await keeper.catchUp(signal);
        return answer(await search(request, signal), keeper.state());
      });
    },
    stats: async (signal) => {
      const { keeper, loaded, store, embedderId } = await opened();
      await orAgain(() => keeper.catchUp(signal));
      return {
        ...statsOf(loaded.files),
        chunks: loaded.chunks.size,
        index: keeper.state(),
        embedder: embedderId,
        scannedMs: store.scannedMs(),
        isWatching: keeper.isWatching(),
        isKept: store.db.isKept(),
      };
    },
    whereUsed: (symbol, options, signal) => ask((graph) => graph.whereUsed(symbol, options), signal),
    lineage: (symbol, options, signal) => ask((graph) => graph.lineage(symbol, options), signal),
    inspect: (word, signal) => ask((graph) => graph.inspect(word), signal),
    close: async () => {
      const parts = await opening?.catch(() => undefined);
      opening = undefined;
      if (parts === undefined) return;
      await parts.keeper.close();
      await parts.lookMany.close();
      parts.looker.close();
      parts.lease.close();
      parts.db.close();
    },
  };
};
