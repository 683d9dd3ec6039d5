import type { Stats } from "node:fs";

/**
 * Something found at a path and held by a descriptor, so that what was judged is what is used, whatever is renamed or
 * swapped meanwhile. Whoever gets one closes it.
 */
export interface Located {
  readonly realPath: string;
  readonly stats: Stats;
  /** A path that leads to this very thing. */
  readonly at: string;
  /** A descriptor to read from; it lives until `close`. */
  openContent(): Promise<number>;
  /** Throws where `at` no longer leads to this very thing: ask after having used it. */
  confirm(): Promise<void>;
  close(): void;
}

/**
 * Follows links, finds the real path, and lets `judge` throw before anything else is done with the thing found.
 * Throws the system's own error where nothing can be found.
 */
export type Locate = (path: string, judge: (realPath: string) => void) => Promise<Located>;

/** ENOENT in the shape of the system's errors, for what vanished while it was looked at. */
export const vanished = (): Error => Object.assign(new Error("It vanished meanwhile."), { code: "ENOENT" });

/** Atomic rewrites replace a file under its name; a path that changes under every try is given up as missing. */
export const MAX_TRIES = 32;
