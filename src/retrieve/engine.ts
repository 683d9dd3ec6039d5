import type { Inspection, Lineage, LineageOptions, UsageOptions, Usages } from "../symbols/answers.ts";
import type { SearchRequest, Snippet } from "./contract.ts";

/**
 * How far an indexing run is. `wait`: another process is at it; `list`: the files are being looked for; `embed`: a model
 * makes the vectors.
 */
export interface IndexProgress {
  readonly phase: "wait" | "list" | "index" | "embed";
  readonly done: number;
  /** 0 while it is not known. */
  readonly total: number;
}

/** What an indexing run found and did. */
export interface IndexReport {
  readonly files: number;
  readonly chunks: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Bytes of the files that were read. */
  readonly readBytes: number;
  readonly tookMs: number;
}

/** How much of the workspace an answer covers. */
export interface IndexState {
  /** `building`: an answer may miss files that are not indexed yet. */
  readonly state: "ready" | "building";
  readonly done: number;
  readonly total: number;
}

export interface Answer<T> {
  readonly value: T;
  readonly index: IndexState;
  /** Sentences for whoever reads the answer; empty when all is well. */
  readonly notes: readonly string[];
}

export interface FileCount {
  readonly path: string;
  readonly reason: string;
}

export interface IndexStats {
  readonly index: IndexState;
  readonly files: number;
  readonly chunks: number;
  /** Of the indexed files. */
  readonly bytes: number;
  /** Files by language, most first. */
  readonly languages: readonly {
    readonly language: string;
    readonly files: number;
    readonly chunks: number;
  }[];
  /** Files that were cut into plain windows of lines because their parser gave up: all of them, and the first by path. */
  readonly fallbacks: { readonly total: number; readonly first: readonly FileCount[] };
  /** Files left out, as binary or too large: all of them, and the first large ones by path. */
  readonly skipped: { readonly binary: number; readonly large: number; readonly first: readonly FileCount[] };
  readonly embedder: string;
  /** When all files were last looked at, in milliseconds since the epoch; 0: never. */
  readonly scannedMs: number;
  /** Changes on the disk are noticed as they happen; otherwise they are looked for before an answer. */
  readonly isWatching: boolean;
  /** False where the disk cannot be written and the index lives in memory. */
  readonly isKept: boolean;
}

/** Finds lines of code and documents. Every method may be called at once by many. */
export interface Retrieval {
  /** Brings the index up to date with the files; `force` reads and parses all of them again. */
  index(
    request: { readonly force?: boolean },
    signal?: AbortSignal,
    onProgress?: (progress: IndexProgress) => void,
  ): Promise<IndexReport>;
  /** Text and lines of each snippet are those of the file on the disk at this moment. */
  search(request: SearchRequest, signal?: AbortSignal): Promise<Answer<readonly Snippet[]>>;
  stats(signal?: AbortSignal): Promise<IndexStats>;
  /** A name, a qualified name (`Store.open`) or `path:line`. */
  whereUsed(symbol: string, options?: UsageOptions, signal?: AbortSignal): Promise<Answer<Usages>>;
  lineage(symbol: string, options?: LineageOptions, signal?: AbortSignal): Promise<Answer<Lineage>>;
  inspect(symbolOrPath: string, signal?: AbortSignal): Promise<Answer<Inspection>>;
  close(): Promise<void>;
}
