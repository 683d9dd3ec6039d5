/** What indexing is told by the configuration. Plain data: it goes to the threads with every call, since it is hot. */
export interface IndexSettings {
  /** As configured: relative to the workspace or absolute. */
  readonly roots: readonly string[];
  readonly denylist: readonly string[];
  /** Folders that nobody reaches, whatever the roots: the user's own of llmc. */
  readonly closed?: readonly string[];
  /** Files that stay withheld under any name (WithheldFiles). */
  readonly withheldFiles?: readonly string[];
  /** Larger files are left out, and told in the statistics. */
  readonly maxFileBytes: number;
  /** Listen to changes on the disk. */
  readonly watch: boolean;
  /** Threads that parse, at most; 0: none, everything is done in the calling thread. */
  readonly threads: number;
}

/** More files than this are cut off, and the answer says so: nobody works on so many, a mistaken root has them. */
export const MAX_FILES = 200_000;

/** The part of the settings that decides what may be read: a change of it means another set of files. */
export const reachOf = ({
  roots,
  denylist,
  closed = [],
  withheldFiles = [],
  maxFileBytes,
}: IndexSettings): string => JSON.stringify([roots, denylist, closed, withheldFiles, maxFileBytes]);
