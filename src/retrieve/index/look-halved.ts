import { extname, join } from "node:path";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import type { EmbedderFiles } from "../../host/os/assets.ts";
import { createThreadPool, type ThreadPool } from "../../host/threads/thread-pool.ts";
import type { HalfLook, Look, Looker, Wanted } from "./look.ts";
import type { IndexSettings } from "./settings.ts";
import { takeBreath } from "./take-breath.ts";
import type { WeighThreadData, WeighThreadMethods } from "./weigh-thread.ts";

/**
 * Looks at files in two halves: this thread reads, parses and cuts, another one makes symbols, words and vectors. Two
 * threads that both do everything each have all of the program to warm up, which for a few megabytes costs more than
 * they gain.
 */
export interface HalvedLook {
  run(
    wanted: readonly Wanted[],
    settings: IndexSettings,
    take: (looks: readonly Look[]) => void,
    signal: AbortSignal | undefined,
  ): Promise<void>;
  close(): Promise<void>;
}

const ENTRY = join(import.meta.dirname, `weigh-thread${extname(import.meta.filename)}`);

// Files of one message, and of one commit.
const AT_ONCE = 8;
const JOB_TIMEOUT_MS = 60_000;
const IDLE_MS = 10_000;
const MAX_HEAP_MB = 512;

export const createHalvedLook = (embedderFiles: EmbedderFiles, looker: Looker): HalvedLook => {
  let pool: ThreadPool<WeighThreadMethods> | undefined;
  const threads = (): ThreadPool<WeighThreadMethods> => {
    pool ??= createThreadPool<WeighThreadMethods>({
      entry: ENTRY,
      name: "weigh",
      data: { embedderFiles } satisfies WeighThreadData,
      size: 1,
      maxHeapMb: MAX_HEAP_MB,
      jobTimeoutMs: JOB_TIMEOUT_MS,
      idleMs: IDLE_MS,
    });
    return pool;
  };

  const weighThere = async (
    halves: readonly HalfLook[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Look[]> => {
    const sent = halves.map(({ path, chunks, tree }) => ({
      path,
      tree,
      chunks: chunks.map(({ text, name, defines }) => ({ text, name, defines })),
    }));
    const weighed = await threads().run("weigh", sent, signal);
    return halves.flatMap((half, i) => (weighed[i] === undefined ? [] : [half.finish(weighed[i])]));
  };

  /** A tree that brings its thread down is left out; where threads cannot work at all, all is done here. */
  const weighSingly = async (half: HalfLook, signal: AbortSignal | undefined): Promise<readonly Look[]> => {
    const orNone = (work: Promise<readonly Look[]>) =>
      work.catch(() => {
        stopIfAborted(signal);
        return undefined;
      });
    const found = await orNone(weighThere([half], signal));
    if (found !== undefined) return found;
    const isAlive = (await orNone(weighThere([], signal))) !== undefined;
    return [looker.weigh(isAlive ? { ...half, tree: undefined } : half)];
  };

  const weigh = async (
    halves: readonly HalfLook[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Look[]> => {
    try {
      return await weighThere(halves, signal);
    } catch {
      const looks: Look[] = [];
      for (const half of halves) {
        stopIfAborted(signal);
        looks.push(...(await weighSingly(half, signal)));
      }
      return looks;
    }
  };

  const beginBatch = async (
    wanted: readonly Wanted[],
    settings: IndexSettings,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly whole: readonly Look[]; readonly halves: readonly HalfLook[] }> => {
    const whole: Look[] = [];
    const halves: HalfLook[] = [];
    for (const one of wanted) {
      stopIfAborted(signal);
      const look = await looker.begin(one, settings, signal);
      if ("finish" in look) halves.push(look);
      else whole.push(look);
      await takeBreath();
    }
    return { whole, halves };
  };

  return {
    run: async (wanted, settings, take, signal) => {
      // The first failure stops all: there is no use in parsing what cannot be stored.
      const failed: unknown[] = [];
      const note = (error: unknown): void => void failed.push(error);
      const finish = async (whole: readonly Look[], halves: readonly HalfLook[]): Promise<void> => {
        const looks = await weigh(halves, signal);
        stopIfAborted(signal);
        if (failed.length === 0) take([...whole, ...looks]);
      };
      const rest: Promise<void>[] = [];
      for (let at = 0; at < wanted.length && failed.length === 0; at += AT_ONCE) {
        const begun = await beginBatch(wanted.slice(at, at + AT_ONCE), settings, signal).catch(note);
        if (begun) rest.push(finish(begun.whole, begun.halves).catch(note));
      }
      // Nothing is taken any more once this has ended, however it ends.
      await Promise.all(rest);
      if (failed.length > 0) throw failed[0];
    },
    close: async () => {
      await pool?.close();
    },
  };
};
