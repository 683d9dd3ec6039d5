import { extname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { EmbedderFiles } from "../../host/os/assets.ts";
import { createJobThread, type JobThread } from "../../host/threads/job-thread.ts";
import type { FileIndexer, FileRequest, FileResult } from "./file-indexer.ts";
import type { IndexerThreadData, IndexerThreadMethods } from "./indexer-thread.ts";
import type { IndexSettings } from "./settings.ts";
import { createWorkQueues } from "./work-queues.ts";

/** With size and stamp as listed. */
export interface ListedRequest extends FileRequest {
  readonly size: number;
  readonly stamp: string;
}

/** Indexes many files: a few in the calling thread, more in a pool of threads. */
export interface BatchIndexer {
  /** `onResults` receives the results in batches, in no particular order, one call at a time. */
  run(
    requests: readonly ListedRequest[],
    settings: IndexSettings,
    onResults: (results: readonly FileResult[]) => void,
    signal: AbortSignal | undefined,
  ): Promise<void>;
  close(): Promise<void>;
}

type IndexerPool = JobThread<IndexerThreadMethods>;

/** Beside this file, and built like it. */
const ENTRY = join(import.meta.dirname, `indexer-thread${extname(import.meta.filename)}`);

/** A thread takes some 100 ms to start and as long to warm up: less work than this is done in the calling thread. */
const POOL_BYTES = 1024 * 1024;
/**
 * Every thread has to warm up for itself, so a second one for the same 2 to 5 MB costs a third more processor time (2.2
 * against 2.8 s for 2 MB), which on two cores is all that it gains, and 40 MB of memory.
 */
const BYTES_PER_THREAD = 8 * 1024 * 1024;
/** Files of one transaction: each costs a third of a millisecond. */
const FILES_PER_WRITE = 8;

/** A batch takes some 50 ms; the parser itself gives up after five seconds a file. */
const JOB_TIMEOUT_MS = 60_000;
/** The pool is closed at the end of a run; this only limits how long a run that waits elsewhere keeps idle threads. */
const IDLE_MS = 10_000;
/** Batches of a thread that are under way: one that it works on, and one that waits. */
const BATCHES_PER_THREAD = 2;
const MAX_HEAP_MB = 512;

const CRASHED = "parsing brought its thread down";

const threadsFor = (requests: readonly ListedRequest[], { threads }: IndexSettings): number => {
  const bytes = requests.reduce((sum, { size }) => sum + size, 0);
  return bytes < POOL_BYTES ? 0 : Math.min(threads, Math.ceil(bytes / BYTES_PER_THREAD));
};

/** Indexes files one by one, so that a file that crashes its thread does not take its neighbours with it. */
const indexSingly = async (
  pool: IndexerPool,
  requests: readonly ListedRequest[],
  settings: IndexSettings,
  signal: AbortSignal,
): Promise<readonly FileResult[]> => {
  const results: FileResult[] = [];
  for (const { path, hash, size, stamp } of requests) {
    const attempts = [
      () => pool.run("index", { requests: [{ path, hash }], settings }, signal).then(([result]) => result),
      () => pool.run("indexWithoutParsing", { path, reason: CRASHED, settings }, signal),
    ];
    let found: FileResult | undefined;
    for (const attempt of attempts) {
      found ??= await attempt().catch(() => {
        stopIfAborted(signal);
        return undefined;
      });
    }
    // Where threads cannot work at all, no file is to blame.
    if (found === undefined) await pool.run("index", { requests: [], settings }, signal);
    results.push(found ?? { path, kind: "failed", reason: CRASHED, size, stamp });
  }
  return results;
};

const indexInPool = (
  pool: IndexerPool,
  batch: readonly ListedRequest[],
  settings: IndexSettings,
  signal: AbortSignal,
): Promise<readonly FileResult[]> => {
  const requests = batch.map(({ path, hash }) => ({ path, hash }));
  return pool.run("index", { requests, settings }, signal).catch(() => {
    stopIfAborted(signal);
    return indexSingly(pool, batch, settings, signal);
  });
};

export const createBatchIndexer = (
  workspace: string,
  embedderFiles: EmbedderFiles,
  indexer: FileIndexer,
): BatchIndexer => {
  const openPools = new Set<IndexerPool>();

  const createPool = (): IndexerPool => {
    const pool = createJobThread<IndexerThreadMethods>({
      entry: ENTRY,
      name: "indexer",
      data: { workspace, embedderFiles } satisfies IndexerThreadData,
      maxHeapMb: MAX_HEAP_MB,
      jobTimeoutMs: JOB_TIMEOUT_MS,
      idleMs: IDLE_MS,
    });
    openPools.add(pool);
    return pool;
  };

  const runHere: BatchIndexer["run"] = async (requests, settings, onResults, signal) => {
    for (let at = 0; at < requests.length; at += FILES_PER_WRITE) {
      const results: FileResult[] = [];
      for (const request of requests.slice(at, at + FILES_PER_WRITE)) {
        stopIfAborted(signal);
        results.push(await indexer.index(request, settings, signal));
        // Messages, timers and cancellations get through between two files.
        await nextTurn();
      }
      onResults(results);
    }
  };

  const runInPool = async (
    threads: number,
    ...[requests, settings, onResults, signal]: Parameters<BatchIndexer["run"]>
  ): Promise<void> => {
    const queues = createWorkQueues(requests, threads);
    // A pool of one thread each: a thread keeps to its own queue, whose grammars it has loaded.
    const pools = Array.from({ length: threads }, createPool);
    // The first failure stops all threads: parsing what cannot be stored is useless.
    const failure = new AbortController();
    const stop = AbortSignal.any([failure.signal, ...(signal === undefined ? [] : [signal])]);
    const work = async (pool: IndexerPool, queue: number): Promise<void> => {
      for (let batch = queues.next(queue); batch !== undefined; batch = queues.next(queue)) {
        const results = await indexInPool(pool, batch, settings, stop);
        stopIfAborted(stop);
        onResults(results);
      }
    };
    const works = pools.flatMap((pool, queue) =>
      Array.from({ length: BATCHES_PER_THREAD }, () => work(pool, queue)),
    );
    try {
      await Promise.all(works);
    } catch (error) {
      failure.abort();
      // No results are handed over any more once this function has ended.
      await Promise.allSettled(works);
      throw error;
    } finally {
      // At once, not when idle: each thread holds some 50 MB of grammars and heap, which answers do not need.
      for (const pool of pools) {
        await pool.close();
        openPools.delete(pool);
      }
    }
  };

  return {
    run: (requests, settings, ...rest) => {
      const threads = threadsFor(requests, settings);
      return threads === 0
        ? runHere(requests, settings, ...rest)
        : runInPool(threads, requests, settings, ...rest);
    },
    close: async () => {
      for (const pool of openPools) await pool.close();
      openPools.clear();
    },
  };
};
