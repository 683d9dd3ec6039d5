import { afterAll } from "vitest";

/** A heap that has grown by less is not worth the 70 ms of a collection. */
const WORTH_BYTES = 64 << 20;

let keptBytes = 0;

/**
 * Node starts a program by forking, which copies the page tables of this process: 0.5 ms of processor time at 50 MB, 20 ms
 * at 1 GB. A worker that runs many files, and starts hundreds of programs, gives back what a file has used.
 */
afterAll(() => {
  if (process.memoryUsage().heapTotal - keptBytes < WORTH_BYTES) return;
  // Only this flavour gives pages back to the system.
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  keptBytes = process.memoryUsage().heapTotal;
});
