import { readFileSync, statfsSync } from "node:fs";
import type { ReachedLimit } from "../../../base/limit-notes.ts";
import type { CommandLimits } from "./limits.ts";
import type { ProcessTree } from "./process-tree.ts";
import { storedBytes } from "./stored-bytes.ts";

const TICK_MS = 200;
/** The kernel's number for this kind of file system. */
const TMPFS = 0x01021994;

/** Memory that is a process's own, or shared memory that it has touched, in bytes; 0 where it has gone. */
const memoryOf = (pid: number): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
    return (kib("RssAnon") + kib("RssShmem")) * 1024;
  } catch {
    return 0;
  }
};

const threadsOf = (pid: number): number => {
  try {
    return Number(/^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 1);
  } catch {
    return 0;
  }
};

/** What the kernel needs for a file in memory, besides its content. */
const INODE_BYTES = 1024;

/** Memory that the names of files take, in the file systems that the sandbox has in memory. */
const inodeBytesOf = (pid: number): number => {
  try {
    return ["tmp", "dev/shm"].reduce((sum, folder) => {
      const { files, ffree, type } = statfsSync(`/proc/${pid}/root/${folder}`);
      return type === TMPFS ? sum + (files - ffree) * INODE_BYTES : sum;
    }, 0);
  } catch {
    return 0;
  }
};

export interface UsageWatch {
  hit(): ReachedLimit | undefined;
  stop(): void;
}

interface Usage {
  readonly memory: number;
  readonly threads: number;
}

const usageOf = (tree: ProcessTree): Usage => {
  const pids = tree.find().map(({ pid }) => pid);
  const last = pids.at(-1);
  return {
    threads: pids.reduce((sum, pid) => sum + threadsOf(pid), 0),
    memory: pids.reduce((sum, pid) => sum + memoryOf(pid), 0) + (last === undefined ? 0 : inodeBytesOf(last)),
  };
};

/** The sum over watched trees. Files are counted last, and only where there is room for any. */
const overLimit = async (
  trees: ReadonlyMap<ProcessTree, string | undefined>,
  { memoryBytes, processes, fileBytes, filesAreMemory = false }: CommandLimits,
): Promise<ReachedLimit | undefined> => {
  const usages = [...trees.keys()].map(usageOf);
  let memory = usages.reduce((sum, usage) => sum + usage.memory, 0);
  const threads = usages.reduce((sum, usage) => sum + usage.threads, 0);
  for (const [tree, folder] of filesAreMemory ? trees : []) {
    if (folder === undefined || memory > memoryBytes) continue;
    const pids = tree.find().map(({ pid }) => pid);
    memory += await storedBytes(folder, pids, fileBytes, memoryBytes - memory);
  }
  if (memory > memoryBytes) return "memory";
  return threads > processes ? "processes" : undefined;
};

/** Many files take long to count: the next time waits so many times as long, up to a second. */
const PAUSE = 20;
const MAX_TICK_MS = 1000;

/**
 * For commands without a control group: five times a second, adds up what all processes of all watched trees use, and
 * ends all of them if they exceed a limit. The programs of a pipeline share one: the limits are of the command line.
 */
export const createUsageWatcher = (limits: CommandLimits) => {
  /** With the folder of each that it has on a disk. */
  const trees = new Map<ProcessTree, string | undefined>();
  let found: ReachedLimit | undefined;
  let timer: NodeJS.Timeout | undefined;
  const endAll = (): void => {
    for (const tree of trees.keys()) void tree.end(0);
  };
  const check = async (): Promise<void> => {
    timer = undefined;
    const startedAt = performance.now();
    found = await overLimit(trees, limits);
    if (found !== undefined) return endAll();
    watchOn(PAUSE * (performance.now() - startedAt));
  };
  const watchOn = (pauseMs: number): void => {
    if (trees.size > 0 && found === undefined)
      timer ??= setTimeout(() => void check(), Math.min(Math.max(TICK_MS, pauseMs), MAX_TICK_MS)).unref();
  };
  return (tree: ProcessTree, folder?: string): UsageWatch => {
    trees.set(tree, folder);
    watchOn(0);
    // One that starts after the others were ended.
    if (found !== undefined) endAll();
    return {
      hit: () => found,
      stop: () => {
        trees.delete(tree);
        if (trees.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
      },
    };
  };
};
