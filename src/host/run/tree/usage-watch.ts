import { readFileSync, statfsSync } from "node:fs";
import type { ReachedLimit } from "../../../base/limit-notes.ts";
import type { CommandLimits } from "./limits.ts";
import type { ProcessTree } from "./process-tree.ts";

const TICK_MS = 200;
/** The kernel's number for this kind of file system. */
const TMPFS = 0x01021994;

/** Memory that is a process's own, or shared memory that it has touched, in bytes; 0 where it has gone. */
const memoryOf = (pid: number): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const kib = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
    return (kib("RssAnon") + kib("RssShmem")) * 1024;
  } catch {
    return 0;
  }
};

const threadsOf = (pid: number): number => {
  try {
    return Number(/^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 1);
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

/**
 * For commands without a control group: five times a second, adds up what its processes use, and ends all of them if
 * they exceed a limit.
 */
export const watchUsage = (tree: ProcessTree, { memoryBytes, processes }: CommandLimits): UsageWatch => {
  let found: ReachedLimit | undefined;
  const timer = setInterval(() => {
    const pids = tree.find().map(({ pid }) => pid);
    const threads = pids.reduce((sum, pid) => sum + threadsOf(pid), 0);
    const last = pids.at(-1);
    const memory =
      pids.reduce((sum, pid) => sum + memoryOf(pid), 0) + (last === undefined ? 0 : inodeBytesOf(last));
    if (threads <= processes && memory <= memoryBytes) return;
    found = memory > memoryBytes ? "memory" : "processes";
    clearInterval(timer);
    void tree.end(0);
  }, TICK_MS);
  timer.unref();
  return { hit: () => found, stop: () => clearInterval(timer) };
};
