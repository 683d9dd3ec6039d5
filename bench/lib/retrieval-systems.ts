import { readEmbedderFiles } from "../../src/host/os/assets.ts";
import type { Chunk } from "../../src/retrieve/chunk/chunk.ts";
import type { AsyncEmbedder } from "../../src/retrieve/embed/async-embedder.ts";
import type { Embedder } from "../../src/retrieve/embed/embedder.ts";
import { loadNearestRows } from "../../src/retrieve/embed/nearest-rows.ts";
import { createStaticEmbedder } from "../../src/retrieve/embed/static-embedder.ts";
import { createVectorIndex } from "../../src/retrieve/embed/vector-index.ts";
import { parseFile } from "../../src/retrieve/index/parse-file.ts";
import { createChunkIndex } from "../../src/retrieve/rank/chunk-index.ts";
import { shapeOf } from "../../src/retrieve/rank/query-shape.ts";
import { RANK_WEIGHTS, type RankWeights } from "../../src/retrieve/rank/rank-weights.ts";
import { chunkTerms } from "../../src/retrieve/terms/chunk-terms.ts";
import { createLexicalIndex } from "../../src/retrieve/terms/lexical-index.ts";
import { runSteps } from "../../src/symbols/answers/centrality.ts";
import type { FileSymbols } from "../../src/symbols/extract/file-symbols.ts";
import { outlineSymbols } from "../../src/symbols/extract/outline-symbols.ts";
import { createGraph } from "../../src/symbols/graph.ts";
import { createParsers } from "../../src/syntax/parsers.ts";
import type { Corpus } from "./retrieval-sets.ts";

export interface Hit {
  readonly path: string;
  readonly text: string;
}

/** What is measured: a question in, chunks out, best first. */
export interface SystemUnderTest {
  readonly name: string;
  ask(question: string, limit: number): Promise<readonly Hit[]>;
  /** What a model gets to read when it asks for nothing special; left out: the text of the first hits. */
  answer?(question: string): Promise<string>;
}

export interface OpenSystems {
  readonly systems: readonly SystemUnderTest[];
  readonly chunks: number;
  readonly megabytes: number;
  readonly indexMs: number;
  close(): Promise<void>;
}

export type OpenCorpus = (corpus: Corpus) => Promise<OpenSystems>;

export const HYBRID_SYSTEM = "hybrid";

interface Kept extends Chunk {
  readonly path: string;
}

export interface LibraryOptions {
  readonly embedder: AsyncEmbedder;
  readonly weights: RankWeights;
}

const asAsync = (embedder: Embedder): AsyncEmbedder => ({
  id: embedder.id,
  dimensions: embedder.dimensions,
  embedChunks: async (chunks) => chunks.map(({ path, text }) => embedder.embedChunk(path, text)),
  embedQuery: async (text) => embedder.embedQuery(text),
});

const standard = (): LibraryOptions => ({
  embedder: asAsync(createStaticEmbedder(readEmbedderFiles())),
  weights: RANK_WEIGHTS,
});

/** The parts of the engine, put together in this process without a disk: the ranking, beside each of its two halves. */
export const openLibrary = async ({ embedder, weights } = standard()): Promise<OpenCorpus> => {
  const nearestRows = loadNearestRows();
  const parsers = await createParsers();
  return async (corpus) => {
    const index = createChunkIndex({ dimensions: embedder.dimensions, nearestRows });
    const lexical = createLexicalIndex();
    const vectors = createVectorIndex(embedder.dimensions, nearestRows);
    const kept: Kept[] = [];
    const outlines: (readonly [path: string, language: string, symbols: FileSymbols])[] = [];
    let bytes = 0;
    const documents = corpus.documents();
    const started = performance.now();
    for (const { path, text } of documents) {
      bytes += Buffer.byteLength(text);
      const { chunks, language, symbols } = await parseFile({ path, text }, parsers);
      outlines.push([path, language, outlineSymbols(symbols)]);
      const made = await embedder.embedChunks(chunks.map((chunk) => ({ path, text: chunk.text })));
      for (const [at, chunk] of chunks.entries()) {
        const id = kept.length;
        const terms = chunkTerms(path, chunk);
        const vector = made[at] ?? new Int8Array(embedder.dimensions);
        index.add({ ...chunk, id, path, language, terms, vector });
        lexical.add(id, terms);
        vectors.add(id, vector);
        kept.push({ ...chunk, path });
      }
    }
    const indexMs = performance.now() - started;
    // Without the files that configure modules: they are no documents of the sets.
    const graph = createGraph();
    for (const [path, language, symbols] of outlines) graph.put(path, language, symbols);
    const central = runSteps(graph.centrality());
    const hits = (ids: readonly { readonly id: number }[]): readonly Hit[] =>
      ids.flatMap(({ id }) => kept[id] ?? []);
    return {
      systems: [
        {
          name: HYBRID_SYSTEM,
          ask: async (query, limit) =>
            hits(
              index.search({
                query,
                vector: await embedder.embedQuery(query),
                weights,
                centrality: (path) => central.get(path) ?? 0,
                scope: "both",
                limit,
              }),
            ),
        },
        {
          name: "BM25 only",
          ask: async (query, limit) => hits(lexical.search(shapeOf(query).terms, limit)),
        },
        {
          name: "vectors only",
          ask: async (query, limit) => hits(vectors.search(await embedder.embedQuery(query), limit)),
        },
      ],
      chunks: kept.length,
      megabytes: bytes / 1e6,
      indexMs,
      close: async () => {},
    };
  };
};
