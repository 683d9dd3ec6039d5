import type { Unread } from "../../host/read/unread.ts";

/**
 * How far an indexing run is. `wait`: another process is indexing; `list`: the files are being listed; `embed`: a model is
 * computing the vectors.
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

export interface FileReason {
  readonly path: string;
  readonly reason: string;
}

export interface IndexStats {
  readonly index: IndexState;
  readonly files: number;
  readonly chunks: number;
  /** Of the indexed files. */
  readonly bytes: number;
  /** Files by language, the most frequent first. */
  readonly languages: readonly {
    readonly language: string;
    readonly files: number;
    readonly chunks: number;
  }[];
  /** Files that were cut into plain windows of lines because their parser gave up: all of them, and the first by path. */
  readonly fallbacks: { readonly total: number; readonly first: readonly FileReason[] };
  /** Files left out, as binary or too large: all of them, and the first large ones by path. */
  readonly skipped: {
    readonly binary: number;
    readonly large: number;
    readonly first: readonly FileReason[];
  };
  /** Files and directories that the operating system does not let us read. */
  readonly unread: Unread;
  readonly embedder: string;
  /** When all files were last checked, in milliseconds since the epoch; 0: never. */
  readonly scannedMs: number;
  /** Changes on the disk are noticed as they happen; otherwise the files are checked before an answer. */
  readonly isWatching: boolean;
  /** False where the disk cannot be written and the index lives in memory. */
  readonly isKept: boolean;
}

/** Of two runs, one after the other. */
export const addReports = (first: IndexReport, second: IndexReport): IndexReport => ({
  ...second,
  added: first.added + second.added,
  changed: first.changed + second.changed,
  removed: first.removed + second.removed,
  readBytes: first.readBytes + second.readBytes,
  tookMs: first.tookMs + second.tookMs,
});
