import type { Files } from "../../read/files.ts";
import type { SliceBounds } from "../../read/line-slicer.ts";
import type { Database } from "../database/database.ts";
import type { Renderer } from "./render.ts";
import type { Grep, SearchText } from "./search.ts";

/** The payload of a handle. */
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
  /** Bytes of the text up to the end of the slice; 0 where it is rendered from what is stored. */
  readonly endByte: number;
  /** Lines that match, where it was searched. */
  readonly totalHits?: number;
  /** The source has changed since the handle was made (a file's size or time differs), or is gone. */
  readonly stale: boolean;
}

/** Whose handles: the principal of a caller. To anybody else a handle does not exist. */
export interface HandleOwner {
  readonly principal: string;
}

export interface HandleQuery {
  /** A regular expression of ripgrep's default engine; case does not count. */
  readonly pattern: string;
  /** Lines to skip. */
  readonly offsetLines: number;
  readonly maxHits: number;
}

/** Large results kept for later reading. They outlive the process and expire. */
export interface Handles {
  /**
   * Stores lines as they come, without holding them all; beyond the size limit the rest is dropped, and the last line
   * says so.
   */
  put(
    owner: HandleOwner,
    kind: HandleKind,
    source: string,
    lines: AsyncIterable<string> | Iterable<string>,
  ): Promise<string>;
  /** Stores a text as it is, in large pieces: many short lines cost no more than a few long ones. */
  putText(owner: HandleOwner, kind: HandleKind, source: string, text: string): Promise<string>;
  /**
   * A handle to a file as it is now. One that is larger than the limit is not copied: reading it goes through the file
   * port again, and gives what is there then.
   */
  putFile(owner: HandleOwner, path: string): Promise<string>;
  readLines(owner: HandleOwner, id: string, slice: SliceBounds, signal?: AbortSignal): Promise<HandleSlice>;
  /** Chunks count from 0, 64 KiB each. */
  readChunk(owner: HandleOwner, id: string, chunk: number, signal?: AbortSignal): Promise<HandleSlice>;
  /** The lines that match a pattern, from a line on. */
  search(owner: HandleOwner, id: string, query: HandleQuery, signal?: AbortSignal): Promise<HandleSlice>;
  /** Newest first. */
  list(owner: HandleOwner): Promise<readonly HandleInfo[]>;
}

export interface HandleLimits {
  readonly ttlSeconds: number;
  /** Maximum size of all payloads together; the principal that uses most loses its oldest handles first. */
  readonly maxTotalBytes: number;
  readonly maxBytesEach: number;
}

export interface HandlesOptions {
  readonly state: Database;
  readonly files: Files;
  /** Real path. */
  readonly workspace: string;
  readonly limits: () => HandleLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly pid: number;
  /** Kinds whose stored lines are rendered before they are shown. */
  readonly renderers?: Partial<Record<HandleKind, Renderer>>;
  /** Left out: handles are not searched, as by `te`. */
  readonly grep?: Grep;
  /** Stored lines as a search reads them, where they are stored in another form. */
  readonly searchTexts?: Partial<Record<HandleKind, SearchText>>;
}
