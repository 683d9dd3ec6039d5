import { readFileSync } from "node:fs";
import type { CommandLimits } from "./contract.ts";
import type { ProcessTree } from "./process-tree.ts";

const TICK_MS = 200;

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

export interface UsageWatch {
  hit(): "memory" | "processes" | undefined;
  stop(): void;
}

/** For machines where no control group bounds a command: adds its processes up a few times a second and ends them all. */
export const watchUsage = (tree: ProcessTree, { memoryBytes, processes }: CommandLimits): UsageWatch => {
  let found: "memory" | "processes" | undefined;
  const timer = setInterval(() => {
    const pids = tree.find().map(({ pid }) => pid);
    const threads = pids.reduce((sum, pid) => sum + threadsOf(pid), 0);
    const memory = pids.reduce((sum, pid) => sum + memoryOf(pid), 0);
    if (threads <= processes && memory <= memoryBytes) return;
    found = memory > memoryBytes ? "memory" : "processes";
    clearInterval(timer);
    void tree.end(0);
  }, TICK_MS);
  timer.unref();
  return { hit: () => found, stop: () => clearInterval(timer) };
};
