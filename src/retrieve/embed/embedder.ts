/** Turns text into vectors. Vectors of one embedder are compared with each other only. */
export interface Embedder {
  /** Changes whenever vectors would: part of what an index is valid for. */
  readonly id: string;
  readonly dimensions: number;
  /** Scaled so that the largest component is ±127. */
  embedChunk(path: string, text: string): Int8Array;
  embedQuery(text: string): Int8Array;
}
