import { extname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
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

/** Indexes many files: a few small ones in the calling thread, more or larger ones in threads that can be ended. */
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
 * Larger files never are: the calling thread answers questions, and work that was begun in it cannot be ended. What takes
 * quadratic time, by a mistake of ours, takes half a second for this many bytes, and minutes for a megabyte.
 */
const MAX_BYTES_HERE = 64 * 1024;
/**
 * Every thread has to warm up for itself (grammars, compiled code), so for a few megabytes a second one costs about the
 * processor time that it saves, and memory. `npm run bench -- index` prints both per MB, for repositories of all sizes.
 */
const BYTES_PER_THREAD = 8 * 1024 * 1024;
/** Files of one transaction: each costs a third of a millisecond. */
const FILES_PER_WRITE = 8;

/** A batch takes some 50 ms, the largest file a second or two; the parser itself gives up after five seconds a file. */
const FILE_TIMEOUT_MS = 20_000;
/** Plain windows of lines are cut in milliseconds; only a thread that cannot work takes that long. */
const JOB_TIMEOUT_MS = 60_000;
/** The thread for large files is there for the next change; others are closed at the end of a run. */
const IDLE_MS = 10_000;
/** Batches of a thread that are under way: one that it works on, and one that waits. */
const BATCHES_PER_THREAD = 2;
const MAX_HEAP_MB = 512;

const CRASHED = "parsing brought its thread down";
const TOO_SLOW = "parsing takes too long";

const threadsFor = (requests: readonly ListedRequest[], { threads }: IndexSettings): number => {
  const bytes = requests.reduce((sum, { size }) => sum + size, 0);
  return bytes < POOL_BYTES ? 0 : Math.min(threads, Math.ceil(bytes / BYTES_PER_THREAD));
};

/** What all files of a run have in common. */
interface RunContext {
  readonly settings: IndexSettings;
  readonly fileTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Indexes one file in a thread, which ends if it takes too long or crashes; then as plain text. */
const indexOne = async (
  pool: IndexerPool,
  { path, hash, size, stamp }: ListedRequest,
  { settings, fileTimeoutMs, signal }: RunContext,
): Promise<FileResult> => {
  let reason = CRASHED;
  const onFailure = (error: unknown): undefined => {
    stopIfAborted(signal);
    if (error instanceof LlmcError && error.code === "timeout") reason = TOO_SLOW;
    return undefined;
  };
  const requests = [{ path, hash }];
  const [parsed] =
    (await pool.run("index", { requests, settings }, signal, fileTimeoutMs).catch(onFailure)) ?? [];
  const found =
    parsed ?? (await pool.run("indexWithoutParsing", { path, reason, settings }, signal).catch(onFailure));
  // Where threads cannot work at all, no file is to blame.
  if (found === undefined) await pool.run("index", { requests: [], settings }, signal);
  return found ?? { path, kind: "failed", reason, size, stamp };
};

const indexInPool = async (
  pool: IndexerPool,
  batch: readonly ListedRequest[],
  context: RunContext,
): Promise<readonly FileResult[]> => {
  const { settings, fileTimeoutMs, signal } = context;
  const requests = batch.map(({ path, hash }) => ({ path, hash }));
  try {
    return await pool.run("index", { requests, settings }, signal, fileTimeoutMs);
  } catch {
    stopIfAborted(signal);
    // One by one, so that the file that is to blame does not take its neighbours with it.
    const results: FileResult[] = [];
    for (const request of batch) results.push(await indexOne(pool, request, context));
    return results;
  }
};

export const createBatchIndexer = (
  workspace: string,
  embedderFiles: EmbedderFiles,
  indexer: FileIndexer,
  fileTimeoutMs = FILE_TIMEOUT_MS,
): BatchIndexer => {
  const openPools = new Set<IndexerPool>();
  let largeFiles: IndexerPool | undefined;

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
    const indexHere = async (request: ListedRequest): Promise<FileResult> => {
      const result = await indexer.index(request, settings, signal, MAX_BYTES_HERE);
      if (result.kind !== "large" || result.size > settings.maxFileBytes) return result;
      largeFiles ??= createPool();
      return indexOne(largeFiles, request, { settings, fileTimeoutMs, signal });
    };
    for (let at = 0; at < requests.length; at += FILES_PER_WRITE) {
      const results: FileResult[] = [];
      for (const request of requests.slice(at, at + FILES_PER_WRITE)) {
        stopIfAborted(signal);
        results.push(await indexHere(request));
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
        const results = await indexInPool(pool, batch, { settings, fileTimeoutMs, signal: stop });
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
      largeFiles = undefined;
    },
  };
};
