import { readFile, statfs } from "node:fs/promises";
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../base/error.ts";
import { type ProcessUse, rankProcesses, sampleProcesses } from "./process-table.ts";

export interface DiskUse {
  /** The path as written in the configuration. */
  readonly path: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export interface SystemSnapshot {
  readonly loadAverage: readonly number[];
  readonly cpus: number;
  /** Of all CPUs together, over the sample. */
  readonly cpuPercent: number;
  readonly memoryTotalBytes: number;
  readonly memoryAvailableBytes: number;
  readonly swapTotalBytes: number;
  readonly swapFreeBytes: number;
  readonly uptimeSeconds: number;
  readonly disks: readonly DiskUse[];
  readonly top: readonly ProcessUse[];
}

/** The machine as it is now. */
export interface System {
  snapshot(top: number, signal?: AbortSignal): Promise<SystemSnapshot>;
  /** The busiest processes. */
  top(count: number, signal?: AbortSignal): Promise<readonly ProcessUse[]>;
}

interface SystemOptions {
  /** Real or relative paths of the roots, and the folder that they are relative to. */
  readonly roots: () => readonly { readonly shown: string; readonly path: string }[];
}

/** Long enough to tell a busy process from an idle one: 25 ticks of the kernel's clock. */
const SAMPLE_MS = 250;

const cpuTimes = (): { readonly idle: number; readonly all: number } => {
  const times = os.cpus().map((cpu) => cpu.times);
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const all = times.reduce(
    (sum, { user, nice, sys, irq, idle: free }) => sum + user + nice + sys + irq + free,
    0,
  );
  return { idle, all };
};

const readWhole = async (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");

/** In a container the machine's memory is not ours to use: the group's bound is what counts. */
const memoryUse = async () => {
  const info = await readWhole("/proc/meminfo");
  const field = (name: string): number | undefined => {
    const kib = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(info)?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  };
  const total = field("MemTotal") ?? os.totalmem();
  const available = field("MemAvailable") ?? os.freemem();
  const limit = Number.parseInt(await readWhole("/sys/fs/cgroup/memory.max"), 10);
  const used = Number.parseInt(await readWhole("/sys/fs/cgroup/memory.current"), 10);
  const isBound = Number.isFinite(limit) && Number.isFinite(used) && limit < total;
  return {
    memoryTotalBytes: isBound ? limit : total,
    memoryAvailableBytes: isBound ? Math.max(0, Math.min(available, limit - used)) : available,
    swapTotalBytes: field("SwapTotal") ?? 0,
    swapFreeBytes: field("SwapFree") ?? 0,
  };
};

const diskUse = async (shown: string, path: string): Promise<DiskUse | undefined> => {
  const stats = await statfs(path).catch(() => undefined);
  if (stats === undefined) return undefined;
  return { path: shown, totalBytes: stats.blocks * stats.bsize, freeBytes: stats.bavail * stats.bsize };
};

const pause = async (signal: AbortSignal | undefined): Promise<void> => {
  await sleep(SAMPLE_MS, undefined, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
    throw new LlmcError("cancelled", "The call was cancelled.", { cause });
  });
};

export const createSystem = ({ roots }: SystemOptions): System => {
  const top: System["top"] = async (count, signal) => {
    const startedAt = performance.now();
    const before = await sampleProcesses();
    await pause(signal);
    const after = await sampleProcesses();
    return rankProcesses(before, after, performance.now() - startedAt).slice(0, count);
  };
  return {
    top,
    snapshot: async (count, signal) => {
      const before = cpuTimes();
      const busiest = await top(count, signal);
      const after = cpuTimes();
      const all = after.all - before.all;
      const disks = await Promise.all(roots().map(({ shown, path }) => diskUse(shown, path)));
      return {
        loadAverage: os.loadavg().map((load) => Math.round(load * 100) / 100),
        cpus: os.availableParallelism(),
        cpuPercent: all === 0 ? 0 : Math.round((1 - (after.idle - before.idle) / all) * 100),
        ...(await memoryUse()),
        uptimeSeconds: Math.round(os.uptime()),
        disks: disks.filter((disk) => disk !== undefined),
        top: busiest,
      };
    },
  };
};
