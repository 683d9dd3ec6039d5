/** What lies behind a handle. */
export type HandleKind = "file_content" | "fs_list" | "search_hits" | "output";

export interface HandleInfo {
  readonly id: string;
  readonly kind: HandleKind;
  /** Real path of what it was made from, relative to the workspace where inside; callers must be able to read it. */
  readonly source: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Bytes of the stored payload; 0 for a handle that points at a file. */
  readonly sizeBytes: number;
}

export interface HandleSlice {
  readonly info: HandleInfo;
  readonly text: string;
  readonly firstLine: number;
  readonly lines: number;
  readonly totalLines: number | undefined;
  readonly truncated: boolean;
  /** The source has changed since the handle was made (a file's size or time differs), or is gone. */
  readonly stale: boolean;
}

/** Large results kept for later reading. They outlive the process and expire. */
export interface Handles {
  /** Stores lines as they come, without holding them all; past the size cap the rest is dropped and said so in the last line. */
  put(kind: HandleKind, source: string, lines: AsyncIterable<string> | Iterable<string>): Promise<string>;
  /** A handle to a file as it is now: nothing is copied; reading it goes through the file port again. */
  putFile(path: string): Promise<string>;
  readLines(id: string, slice: { readonly offsetLines: number; readonly maxLines: number; readonly maxBytes: number }, signal?: AbortSignal): Promise<HandleSlice>;
  /** Chunks count from 0, 64 KiB each. */
  readChunk(id: string, chunk: number, signal?: AbortSignal): Promise<HandleSlice>;
  list(): readonly HandleInfo[];
}
