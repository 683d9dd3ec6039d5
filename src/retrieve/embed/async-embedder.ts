import type { Embedder } from "./embedder.ts";

/** The port of embedders that take their time: a local model, an endpoint. Chunks go in batches, a query alone. */
export interface AsyncEmbedder {
  /** Changes whenever vectors would: part of what an index is valid for. */
  readonly id: string;
  readonly dimensions: number;
  /** One vector per chunk, in their order. */
  embedChunks(
    chunks: readonly { readonly path: string; readonly text: string }[],
    signal?: AbortSignal,
  ): Promise<readonly Int8Array[]>;
  embedQuery(text: string, signal?: AbortSignal): Promise<Int8Array>;
}

/** An embedder that has to be found and loaded first. */
export interface EmbeddingModel {
  /** Refuses, with what is missing and how to get it, where it cannot be had. */
  open(): Promise<AsyncEmbedder>;
  close(): Promise<void>;
}

export const asAsync = (embedder: Embedder): AsyncEmbedder => ({
  id: embedder.id,
  dimensions: embedder.dimensions,
  embedChunks: async (chunks, signal) =>
    chunks.map(({ path, text }) => {
      signal?.throwIfAborted();
      return embedder.embedChunk(path, text);
    }),
  embedQuery: async (text) => embedder.embedQuery(text),
});
