import type { Readable, Writable } from "node:stream";

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A program of ours that runs beside this one, with a pipe to it and one from it. */
export interface Child {
  readonly pid: number | undefined;
  readonly input: Writable;
  readonly output: Readable;
  /** Ends it in any case. */
  kill(): void;
  /** Resolves when it has ended and everything that it wrote has been read. */
  readonly exited: Promise<ChildExit>;
}

const FIRST_DELAY_MS = 25;

/** How long to wait before the next start: not at all after the first failures, then longer and longer. */
export const restartDelayMs = (failures: number, maxMs: number): number =>
  failures <= 3 ? 0 : Math.min(maxMs, FIRST_DELAY_MS * 2 ** Math.min(failures - 3, 16));
