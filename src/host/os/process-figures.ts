import { readdirSync, readFileSync } from "node:fs";
import { readProcStat } from "./proc-stat.ts";

/** Linux counts in hundredths of a second, on every machine that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface ProcessFigures {
  readonly residentBytes: number;
  /** 0 where they cannot be counted. */
  readonly descriptors: number;
  readonly cpuSeconds: number;
}

const countDescriptors = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
};

/** What another process takes of the machine; undefined if there is none, or no `/proc`. */
export const processFigures = (pid: number): ProcessFigures | undefined => {
  const stat = readProcStat(pid);
  if (stat === undefined) return undefined;
  try {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    // One that has ended has no memory any more.
    if (kilobytes === undefined) return undefined;
    return {
      residentBytes: Number(kilobytes) * 1024,
      descriptors: countDescriptors(pid),
      cpuSeconds: stat.cpuTicks / TICKS_PER_SECOND,
    };
  } catch {
    return undefined;
  }
};

/** The process that started this one. */
export const startedBy = (): number => process.ppid;
