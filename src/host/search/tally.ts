import { createBest } from "./best.ts";
import type { RecordReader } from "./records.ts";
import type { FileHits } from "./snippets.ts";

/** Hits that are held, the first by path and line; the rest is only counted. */
const MAX_HELD_HITS = 100_000;

const comparePaths = (a: FileHits, b: FileHits): number => {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.raw === undefined || b.raw === undefined ? 0 : Buffer.compare(a.raw, b.raw);
};

const BAD = "\uFFFD";

export interface Tally extends RecordReader {
  finish(): { readonly hits: number; readonly files: number; readonly sorted: readonly FileHits[] };
}

export interface TallyOptions {
  /** Below the root, from how ripgrep writes it. */
  readonly pathOf: (bytes: Buffer) => Buffer;
  /** On a path below the root: whether its hits count. */
  readonly isCounted: (path: string) => boolean;
}

/** Counts hits as they come and holds the first of them. */
export const createTally = ({ pathOf, isCounted }: TallyOptions): Tally => {
  const best = createBest(MAX_HELD_HITS, comparePaths, (file: FileHits) => file.lines.length);
  let hits = 0;
  let files = 0;
  let isOpen = false;
  let current: FileHits | undefined;

  const close = (): void => {
    if (current === undefined) return;
    best.add(current);
    current = undefined;
  };

  return {
    file: (bytes) => {
      close();
      const relative = pathOf(bytes);
      const path = relative.toString("utf8");
      isOpen = isCounted(path);
      if (!isOpen) return;
      files++;
      const file = { path, raw: path.includes(BAD) ? Buffer.from(relative) : undefined, lines: [] };
      if (best.admits(file)) current = file;
    },
    hit: (line) => {
      if (!isOpen) return;
      hits++;
      if (current !== undefined && current.lines.length < MAX_HELD_HITS) current.lines.push(line);
    },
    finish: () => {
      close();
      return { hits, files, sorted: best.sorted() };
    },
  };
};
