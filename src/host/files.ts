/** What kind of thing a directory entry or path is. */
export type EntryType = "file" | "dir" | "link" | "other";

export interface FileStat {
  /** Bytes. */
  readonly size: number;
  /** Seconds since the epoch, with fraction. */
  readonly mtime: number;
  /** Permission bits in octal, such as "0644". */
  readonly mode: string;
  readonly type: EntryType;
}

/** A slice of a text file by lines, read without loading the file. */
export interface TextSlice {
  readonly text: string;
  /** Real path, relative to the workspace where it is inside it. */
  readonly path: string;
  /** Size of the whole file in bytes. */
  readonly sizeBytes: number;
  /** First line of the slice, counted from 0. */
  readonly firstLine: number;
  /** Lines in the slice. */
  readonly lines: number;
  /** Lines of the whole file, where the end was reached; undefined when reading stopped before it. */
  readonly totalLines: number | undefined;
  /** There is more after the slice. */
  readonly truncated: boolean;
}

export interface ReadRequest {
  readonly offsetLines: number;
  readonly maxLines: number;
  readonly maxBytes: number;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly type: EntryType;
}

export interface DirectoryListing {
  readonly path: string;
  /** Sorted by name, directories and files together. */
  readonly entries: readonly DirectoryEntry[];
}

/** A caller's files: every method takes the caller's own words for a path and asks policy on the opened descriptor. */
export interface Files {
  readText(path: string, request: ReadRequest, signal?: AbortSignal): Promise<TextSlice>;
  list(path: string, signal?: AbortSignal): Promise<DirectoryListing>;
  stat(path: string, signal?: AbortSignal): Promise<FileStat & { readonly path: string }>;
}
