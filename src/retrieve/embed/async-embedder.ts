/** An embedder that answers asynchronously, such as a local model or an endpoint. */
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

/** An embedder that has to be loaded first. */
export interface EmbeddingModel {
  /** Rejects, with what is missing and how to get it, where it cannot be loaded. */
  open(): Promise<AsyncEmbedder>;
  close(): Promise<void>;
}
