import { readdir, readFile } from "node:fs/promises";
import { type ProcStat, parseProcStat } from "./proc-stat.ts";

/** One process of the machine: its name and what it uses, never its arguments, which may hold secrets. */
export interface ProcessUse {
  readonly pid: number;
  readonly name: string;
  /** Of one CPU, over the sample. */
  readonly cpuPercent: number;
  readonly memoryBytes: number;
}

type Sample = Pick<ProcStat, "pid" | "name" | "startedAt" | "cpuTicks" | "memoryPages">;

/** Of every Linux that Node runs on: USER_HZ, and the page of the common machines. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** All processes that can be seen; empty where the system has no `/proc`. */
export const sampleProcesses = async (): Promise<readonly Sample[]> => {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const samples = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
      const stat = parseProcStat(text);
      return stat === undefined ? undefined : { ...stat, name: stat.name.replace(/\p{Cc}/gu, "?") };
    }),
  );
  return samples.filter((sample) => sample !== undefined);
};

/** What each used between two samples, the busiest first, then the largest. */
export const rankProcesses = (
  before: readonly Sample[],
  after: readonly Sample[],
  elapsedMs: number,
): readonly ProcessUse[] => {
  const known = new Map(before.map((sample) => [`${sample.pid} ${sample.startedAt}`, sample.cpuTicks]));
  return after
    .map(({ pid, name, startedAt, cpuTicks, memoryPages }) => {
      const used = cpuTicks - (known.get(`${pid} ${startedAt}`) ?? cpuTicks);
      const cpuPercent = Math.round((used / TICKS_PER_SECOND / (elapsedMs / 1000)) * 100);
      return { pid, name, cpuPercent, memoryBytes: memoryPages * PAGE_BYTES };
    })
    .sort((one, other) => other.cpuPercent - one.cpuPercent || other.memoryBytes - one.memoryBytes);
};
