import { readEmbedderFiles, readProseEmbedderFiles } from "../../host/os/assets.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import type { AsyncEmbedder } from "../../retrieve/embed/async-embedder.ts";
import { createStaticEmbedder } from "../../retrieve/embed/static-embedder.ts";

/** One vector per table; a cosine is taken inside one table only. */
export interface QueryVectors {
  readonly prose: Int8Array;
  readonly code: Int8Array;
}

/** The built-in tables, which answer at once. */
export interface StaticTables {
  readonly id: string;
  readonly dimensions: number;
  embedPassage(kind: ChunkKind, text: string): Int8Array;
  embedQuery(text: string): QueryVectors;
}

export interface EmbeddedText {
  readonly kind: ChunkKind;
  readonly text: string;
}

/** What makes the vectors of passages and questions. */
export interface PassageEmbedder {
  /** Changes whenever vectors would: a generation is searched with the embedder that made it. */
  readonly id: string;
  readonly dimensions: number;
  /** Share of the vector score in the rank of a passage; the rest is BM25. */
  readonly share: Readonly<Record<keyof QueryVectors, number>>;
  /** For sentences, of which there are too many for a model, and for the confidence, which was fitted to their cosines. */
  readonly tables: StaticTables;
  /** In the order of the passages. */
  embedPassages(passages: readonly EmbeddedText[], signal?: AbortSignal): Promise<readonly Int8Array[]>;
  embedQuery(text: string): Promise<QueryVectors>;
  close(): Promise<void>;
}

/** Which table makes the vector of a chunk. The one for prose was trained on sentences, which rows of a table are not. */
export const tableOf = (kind: ChunkKind): keyof QueryVectors => (kind === "prose" ? "prose" : "code");

/** Prose takes the table that was trained on it, everything else the one of the workspace's index. */
const createTables = (): StaticTables => {
  const files = readEmbedderFiles();
  const tables = {
    code: createStaticEmbedder(files),
    prose: createStaticEmbedder(readProseEmbedderFiles(files)),
  };
  return {
    id: `${tables.prose.id}+${tables.code.id}`,
    dimensions: tables.prose.dimensions,
    embedPassage: (kind, text) => tables[tableOf(kind)].embedChunk("", text),
    embedQuery: (text) => ({ prose: tables.prose.embedQuery(text), code: tables.code.embedQuery(text) }),
  };
};

export const createPassageEmbedder = (): PassageEmbedder => {
  const tables = createTables();
  return {
    id: tables.id,
    dimensions: tables.dimensions,
    // Flat between 0.2 and 0.3 for prose, and between 0.4 and 0.6 for code.
    share: { prose: 0.25, code: 0.5 },
    tables,
    embedPassages: async (passages) => passages.map(({ kind, text }) => tables.embedPassage(kind, text)),
    embedQuery: async (text) => tables.embedQuery(text),
    close: async () => {},
  };
};

/** Passages that a model gets at once: a few seconds of work, after which a run can be cancelled. */
const BATCH = 32;

/** The passages of prose and of code with a model that is opened, which `close` unloads. */
export const createModelEmbedder = (model: AsyncEmbedder, close: () => Promise<void>): PassageEmbedder => ({
  id: model.id,
  dimensions: model.dimensions,
  // all-MiniLM-L6-v2, nDCG@10. SciFact: 0.733 at 0.2, 0.740 at 0.3, 0.738 at 0.4, 0.726 at 0.5. CoSQA: 0.579 at 0.5,
  // 0.590 at 0.6, 0.594 at 0.7, 0.598 at 0.8.
  share: { prose: 0.3, code: 0.6 },
  tables: createTables(),
  embedPassages: async (passages, signal) => {
    const vectors: Int8Array[] = [];
    for (let from = 0; from < passages.length; from += BATCH) {
      signal?.throwIfAborted();
      const batch = passages.slice(from, from + BATCH).map(({ text }) => ({ path: "", text }));
      vectors.push(...(await model.embedChunks(batch, signal)));
    }
    return vectors;
  },
  embedQuery: async (text) => {
    const vector = await model.embedQuery(text);
    return { prose: vector, code: vector };
  },
  close,
});
