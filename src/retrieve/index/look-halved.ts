import { extname, join } from "node:path";
import type { EmbedderFiles } from "../../host/assets.ts";
import { stopIfAborted } from "../../host/stop-if-aborted.ts";
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

  const weigh = async (
    halves: readonly HalfLook[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Look[]> => {
    const words = halves.map(({ path, chunks, tree }) => ({
      path,
      tree,
      chunks: chunks.map(({ text, name, defines }) => ({ text, name, defines })),
    }));
    const weighed = await threads()
      .run("weigh", words, signal)
      .catch(() => {
        stopIfAborted(signal);
        return [];
      });
    // What the other thread could not do is done here.
    return halves.map((half, i) => {
      const found = weighed[i];
      return found === undefined ? looker.weigh(half) : half.finish(found);
    });
  };

  return {
    run: async (wanted, settings, take, signal) => {
      const failed: unknown[] = [];
      const rest: Promise<void>[] = [];
      for (let at = 0; at < wanted.length && failed.length === 0; at += AT_ONCE) {
        const whole: Look[] = [];
        const halves: HalfLook[] = [];
        for (const one of wanted.slice(at, at + AT_ONCE)) {
          stopIfAborted(signal);
          const look = await looker.begin(one, settings, signal);
          if ("finish" in look) halves.push(look);
          else whole.push(look);
          await takeBreath();
        }
        const finished = weigh(halves, signal).then((looks) => take([...whole, ...looks]));
        rest.push(finished.catch((error: unknown) => void failed.push(error)));
      }
      await Promise.all(rest);
      if (failed.length > 0) throw failed[0];
    },
    close: async () => {
      await pool?.close();
    },
  };
};
