import { posix } from "node:path";

interface Sized {
  readonly path: string;
  readonly size: number;
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
 * Batches of files, in one queue per thread. Files with the same extension stay together in one queue: a grammar takes up to 10 MB and a tenth of a second to load, in
 * every thread that needs it. A thread whose queue is empty takes from the end of the longest other queue.
 */
export const createWorkQueues = <T extends Sized>(files: readonly T[], count: number) => {
  const extensionOf = new Map(files.map((file) => [file, posix.extname(file.path)]));
  const sorted = files.toSorted((a, b) => {
    const [extensionA = "", extensionB = ""] = [extensionOf.get(a), extensionOf.get(b)];
    if (extensionA !== extensionB) return extensionA < extensionB ? -1 : 1;
    return a.path < b.path ? -1 : 1;
  });
  const batches = inBatches(sorted);
  const each = Math.ceil(batches.length / count);
  const queues = Array.from({ length: count }, (_, i) => batches.slice(i * each, (i + 1) * each));
  return {
    /** The next batch for the thread of this queue; undefined once all queues are empty. */
    next: (queue: number): readonly T[] | undefined => {
      const own = queues[queue]?.shift();
      if (own !== undefined) return own;
      return queues.reduce((longest, other) => (other.length > longest.length ? other : longest), []).pop();
    },
  };
};
