import type { Unread } from "./unread.ts";

/** What kind of thing a directory entry or path is. */
export type EntryType = "file" | "dir" | "link" | "other";

export interface DirectoryEntry {
  readonly name: string;
  readonly type: EntryType;
  /** Where details were asked for. */
  readonly details?: { readonly size: number; readonly mtime: number } | undefined;
}

export interface DirectoryListing {
  readonly path: string;
  /** Sorted by name, directories and files together. */
  readonly entries: readonly DirectoryEntry[];
}

export interface WalkQuery {
  readonly depth: number;
  readonly includeHidden: boolean;
  readonly fileGlob: string | undefined;
  readonly maxEntries: number;
}

export interface WalkedEntry extends DirectoryEntry {
  /** Relative to the directory that was walked. */
  readonly path: string;
}

export interface Walk {
  readonly root: string;
  readonly entries: readonly WalkedEntry[];
  /** All entries that fit, also those beyond the bound. */
  readonly total: number;
  /** Directories whose entries are missing. */
  readonly unread: Unread;
}
