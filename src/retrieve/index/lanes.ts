import { posix } from "node:path";

interface Sized {
  readonly path: string;
  readonly size: number;
}

/** Batches of files, dealt out to a number of threads. */
export interface Lanes<T> {
  /** The next batch for this thread; undefined once there are none for anybody. */
  next(lane: number): readonly T[] | undefined;
}

// Large enough that messages cost nothing beside the work, small enough that a stop is noticed within a second.
const BATCH_FILES = 32;
const BATCH_BYTES = 256 * 1024;

const inBatches = <T extends Sized>(files: readonly T[]): (readonly T[])[] => {
  const batches: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    let last = batches.at(-1);
    if (last === undefined || last.length >= BATCH_FILES || bytes + file.size > BATCH_BYTES) {
      last = [];
      batches.push(last);
      bytes = 0;
    }
    last.push(file);
    bytes += file.size;
  }
  return batches;
};

/**
 * Files of one kind stay together, and each thread has its own stretch of them: a grammar that is loaded takes up to
 * 10 MB and a tenth of a second, in every thread that needs it. Who is done takes from the end of the longest stretch.
 */
export const createLanes = <T extends Sized>(files: readonly T[], count: number): Lanes<T> => {
  const kindOf = new Map(files.map((file) => [file, posix.extname(file.path)]));
  const sorted = files.toSorted((a, b) => {
    const [kindA = "", kindB = ""] = [kindOf.get(a), kindOf.get(b)];
    if (kindA !== kindB) return kindA < kindB ? -1 : 1;
    return a.path < b.path ? -1 : 1;
  });
  const batches = inBatches(sorted);
  const each = Math.ceil(batches.length / count);
  const lanes = Array.from({ length: count }, (_, lane) => batches.slice(lane * each, (lane + 1) * each));
  return {
    next: (lane) => {
      const own = lanes[lane]?.shift();
      if (own !== undefined) return own;
      return lanes.reduce((longest, other) => (other.length > longest.length ? other : longest), []).pop();
    },
  };
};
