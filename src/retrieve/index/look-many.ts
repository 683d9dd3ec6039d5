import { extname, join } from "node:path";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { EmbedderFiles } from "../../host/os/assets.ts";
import { createThreadPool, type ThreadPool } from "../../host/threads/thread-pool.ts";
import { createLanes } from "./lanes.ts";
import type { Look, Looker, Wanted } from "./look.ts";
import { createHalvedLook } from "./look-halved.ts";
import type { ParseThreadMethods } from "./parse-thread.ts";
import type { IndexSettings } from "./settings.ts";
import { takeBreath } from "./take-breath.ts";

/** With size and stamp as listed. */
export interface ListedWanted extends Wanted {
  readonly size: number;
  readonly stamp: string;
}

/** Looks at many files, on all cores where that pays. */
export interface LookMany {
  /** `take` gets the results in pieces, in no certain order, and is called by one at a time. */
  run(
    wanted: readonly ListedWanted[],
    settings: IndexSettings,
    take: (looks: readonly Look[]) => void,
    signal: AbortSignal | undefined,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Beside this file, and built like it. */
const ENTRY = join(import.meta.dirname, `parse-thread${extname(import.meta.filename)}`);

// A thread takes some 100 ms to start, and as long to warm up: less work is done here alone.
const FEW_BYTES = 1024 * 1024;
// Up to this, two threads share the work by its kind; beyond, as many as there are cores do all of it.
const MANY_BYTES = 8 * 1024 * 1024;
// Files of one commit: each costs a third of a millisecond.
const AT_ONCE = 8;

// A batch takes some 50 ms; the parser itself gives up after two seconds a file.
const JOB_TIMEOUT_MS = 60_000;
const IDLE_MS = 10_000;
// Batches of a thread that are under way: one that it works on, and one that waits.
const AHEAD = 2;
const MAX_HEAP_MB = 512;

const bytesOf = (wanted: readonly ListedWanted[]): number => wanted.reduce((sum, { size }) => sum + size, 0);

export const createLookMany = (workspace: string, embedderFiles: EmbedderFiles, looker: Looker): LookMany => {
  // One thread each: what a thread has loaded is used again by the same kind of work.
  const pools: ThreadPool<ParseThreadMethods>[] = [];
  const halved = createHalvedLook(embedderFiles, looker);

  const poolAt = (lane: number): ThreadPool<ParseThreadMethods> => {
    pools[lane] ??= createThreadPool<ParseThreadMethods>({
      entry: ENTRY,
      name: "parse",
      data: { workspace, embedderFiles },
      size: 1,
      maxHeapMb: MAX_HEAP_MB,
      jobTimeoutMs: JOB_TIMEOUT_MS,
      idleMs: IDLE_MS,
    });
    return pools[lane];
  };

  /** A file that brings its thread down must not take its neighbours with it. */
  const lookSingly = async (
    threads: ThreadPool<ParseThreadMethods>,
    wanted: readonly ListedWanted[],
    settings: IndexSettings,
    signal: AbortSignal,
  ): Promise<readonly Look[]> => {
    const looks: Look[] = [];
    for (const { path, hash, size, stamp } of wanted) {
      const reason = "parsing brought its thread down";
      const attempts = [
        () => threads.run("look", { wanted: [{ path, hash }], settings }, signal).then(([look]) => look),
        () => threads.run("lookPlainly", { path, reason, settings }, signal),
      ];
      let found: Look | undefined;
      for (const attempt of attempts) {
        found ??= await attempt().catch(() => {
          stopIfAborted(signal);
          return undefined;
        });
      }
      // Where threads cannot work at all, no file is to blame.
      if (found === undefined) await threads.run("look", { wanted: [], settings }, signal);
      looks.push(found ?? { path, kind: "failed", reason, size, stamp });
    }
    return looks;
  };

  const lookHere = async (
    wanted: readonly ListedWanted[],
    settings: IndexSettings,
    signal: AbortSignal | undefined,
  ): Promise<readonly Look[]> => {
    const looks: Look[] = [];
    for (const one of wanted) {
      stopIfAborted(signal);
      looks.push(await looker.look(one, settings, signal));
      await takeBreath();
    }
    return looks;
  };

  const lookThere = async (
    batch: readonly ListedWanted[],
    lane: number,
    settings: IndexSettings,
    signal: AbortSignal,
  ): Promise<readonly Look[]> => {
    const threads = poolAt(lane);
    const plain = batch.map(({ path, hash }) => ({ path, hash }));
    return threads.run("look", { wanted: plain, settings }, signal).catch(() => {
      stopIfAborted(signal);
      return lookSingly(threads, batch, settings, signal);
    });
  };

  const runInThreads: LookMany["run"] = async (wanted, settings, take, signal) => {
    const lanes = createLanes(wanted, settings.threads);
    // The first failure stops all: there is no use in parsing what cannot be stored.
    const failure = new AbortController();
    const stop = signal === undefined ? failure.signal : AbortSignal.any([signal, failure.signal]);
    const work = async (lane: number): Promise<void> => {
      for (let batch = lanes.next(lane); batch !== undefined; batch = lanes.next(lane)) {
        const looks = await lookThere(batch, lane, settings, stop);
        stopIfAborted(stop);
        take(looks);
      }
    };
    const first: { error?: unknown } = {};
    const note = (error: unknown): void => {
      first.error ??= error;
      failure.abort();
    };
    await Promise.all(
      Array.from({ length: settings.threads * AHEAD }, (_, i) => work(i % settings.threads).catch(note)),
    );
    if (first.error !== undefined) throw first.error;
  };

  return {
    run: async (wanted, settings, take, signal) => {
      const bytes = bytesOf(wanted);
      if (settings.threads > 0 && bytes > MANY_BYTES) return runInThreads(wanted, settings, take, signal);
      if (settings.threads > 1 && bytes > FEW_BYTES) return halved.run(wanted, settings, take, signal);
      for (let at = 0; at < wanted.length; at += AT_ONCE)
        take(await lookHere(wanted.slice(at, at + AT_ONCE), settings, signal));
    },
    close: async () => {
      for (const pool of pools) await pool?.close();
      await halved.close();
    },
  };
};
