/** The configuration of the index. Plain data: it is sent to the threads with every call, since it can change at any time. */
export interface IndexSettings {
  /** As configured: relative to the workspace or absolute. */
  readonly roots: readonly string[];
  readonly denylist: readonly string[];
  /** Directories that no caller can reach, whatever the roots are: the configuration and state of llmc itself. */
  readonly closed?: readonly string[];
  /** Files that are withheld under any name (WithheldFiles). */
  readonly withheldFiles?: readonly string[];
  /** Larger files are left out, and listed in the statistics. */
  readonly maxFileBytes: number;
  /** Watch for changes on the disk. */
  readonly watch: boolean;
  /** Maximum number of indexer threads. A few files are indexed in the calling thread anyway. */
  readonly threads: number;
  /** How long a caller waits for an index that is being built; left out: a few seconds. */
  readonly waitMs?: number;
}

/** More files than this are left out, with a warning: only a mistaken root has so many. */
export const MAX_FILES = 200_000;

/** The part of the settings that decides what may be read: when it changes, so does the set of files. */
export const reachOf = ({
  roots,
  denylist,
  closed = [],
  withheldFiles = [],
  maxFileBytes,
}: IndexSettings): string => JSON.stringify([roots, denylist, closed, withheldFiles, maxFileBytes]);
