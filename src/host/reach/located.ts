import type { Dirent, Stats } from "node:fs";

/**
 * Something found at a path and held by a descriptor, so that what was judged is what is used, whatever is renamed or
 * swapped meanwhile. Whoever gets one closes it.
 */
export interface Located {
  readonly realPath: string;
  readonly stats: Stats;
  /** A path to it; whatever is found through it has to be checked separately. */
  readonly at: string;
  /** Whether `at` leads to this very thing whatever is renamed or swapped; otherwise it is only its name. */
  readonly isPinned: boolean;
  /** A descriptor to read from; it lives until `close`. */
  openContent(): Promise<number>;
  /** What is in it, where it is a directory. */
  list(): Promise<Dirent[]>;
  close(): void;
}

/**
 * Follows links, finds the real path, and lets `judge` throw before anything else is done with the thing found.
 * Throws the system's own error where nothing can be found.
 */
export type Locate = (path: string, judge: (realPath: string) => void) => Promise<Located>;
