import { readEmbedderFiles } from "../../src/host/assets.ts";
import type { Chunk, Embedder } from "../../src/retrieve/contract.ts";
import { loadNearestRows } from "../../src/retrieve/embed/nearest-rows.ts";
import { createStaticEmbedder } from "../../src/retrieve/embed/static-embedder.ts";
import { createVectorIndex } from "../../src/retrieve/embed/vector-index.ts";
import { chunkTerms } from "../../src/retrieve/lexical/chunk-terms.ts";
import { createLexicalIndex } from "../../src/retrieve/lexical/lexical-index.ts";
import { parseFile } from "../../src/retrieve/parse/parse-file.ts";
import { createParsers } from "../../src/retrieve/parse/parsers.ts";
import { createChunkIndex } from "../../src/retrieve/rank/chunk-index.ts";
import { shapeOf } from "../../src/retrieve/rank/query-shape.ts";
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

/** The parts of the engine, put together in this process without a disk: the ranking, beside each of its two halves. */
export const openLibrary = async (): Promise<OpenCorpus> => {
  const embedder: Embedder = createStaticEmbedder(readEmbedderFiles());
  const nearestRows = await loadNearestRows();
  const parsers = await createParsers();
  return async (corpus) => {
    const index = createChunkIndex({ dimensions: embedder.dimensions, nearestRows });
    const lexical = createLexicalIndex();
    const vectors = createVectorIndex(embedder.dimensions, nearestRows);
    const kept: Kept[] = [];
    let bytes = 0;
    const documents = corpus.documents();
    const started = performance.now();
    for (const { path, text } of documents) {
      bytes += Buffer.byteLength(text);
      const { chunks, language } = await parseFile({ path, text }, parsers);
      for (const chunk of chunks) {
        const id = kept.length;
        const terms = chunkTerms(path, chunk);
        const vector = embedder.embedChunk(path, chunk.text);
        index.add({ ...chunk, id, path, language, terms, vector });
        lexical.add(id, terms);
        vectors.add(id, vector);
        kept.push({ ...chunk, path });
      }
    }
    const hits = (ids: readonly { readonly id: number }[]): readonly Hit[] =>
      ids.flatMap(({ id }) => kept[id] ?? []);
    return {
      systems: [
        {
          name: HYBRID_SYSTEM,
          ask: async (query, limit) =>
            hits(index.search({ query, vector: embedder.embedQuery(query), scope: "both", limit })),
        },
        {
          name: "BM25 only",
          ask: async (query, limit) => hits(lexical.search(shapeOf(query).terms, limit)),
        },
        {
          name: "vectors only",
          ask: async (query, limit) => hits(vectors.search(embedder.embedQuery(query), limit)),
        },
      ],
      chunks: kept.length,
      megabytes: bytes / 1e6,
      indexMs: performance.now() - started,
      close: async () => {},
    };
  };
};
