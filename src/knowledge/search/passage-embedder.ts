import { readEmbedderFiles, readProseEmbedderFiles } from "../../host/os/assets.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { createStaticEmbedder } from "../../retrieve/embed/static-embedder.ts";

/** One vector per table; a cosine is taken inside one table only. */
export interface QueryVectors {
  readonly prose: Int8Array;
  readonly code: Int8Array;
}

export interface PassageEmbedder {
  /** Changes whenever vectors would: a generation is searched with the embedder that made it. */
  readonly id: string;
  readonly dimensions: number;
  embedPassage(kind: ChunkKind, title: string, text: string): Int8Array;
  embedQuery(text: string): QueryVectors;
}

/** Which table makes the vector of a chunk. The one for prose was trained on sentences: rows of a table are none. */
export const tableOf = (kind: ChunkKind): keyof QueryVectors => (kind === "prose" ? "prose" : "code");

/** Prose takes the table that was trained on it, everything else the one of the workspace's index. */
export const createPassageEmbedder = (): PassageEmbedder => {
  const files = readEmbedderFiles();
  const tables = {
    code: createStaticEmbedder(files),
    prose: createStaticEmbedder(readProseEmbedderFiles(files)),
  };
  return {
    id: `${tables.prose.id}+${tables.code.id}`,
    dimensions: tables.prose.dimensions,
    embedPassage: (kind, title, text) => tables[tableOf(kind)].embedChunk(title, text),
    embedQuery: (text) => ({ prose: tables.prose.embedQuery(text), code: tables.code.embedQuery(text) }),
  };
};
