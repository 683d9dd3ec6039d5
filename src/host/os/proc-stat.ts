import { readFileSync } from "node:fs";

/** One process as `/proc/PID/stat` describes it, see proc(5). */
export interface ProcStat {
  readonly pid: number;
  readonly name: string;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** User and system time, in clock ticks. */
  readonly cpuTicks: number;
  /** In clock ticks since boot. */
  readonly startedAt: string;
  readonly memoryPages: number;
}

/** Fields count from the end of the name, which may itself contain brackets and spaces. */
export const parseProcStat = (text: string): ProcStat | undefined => {
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  const [state, parent, group, session] = fields;
  const startedAt = fields[19];
  if (end < 0 || state === undefined || startedAt === undefined) return undefined;
  return {
    pid: Number.parseInt(text, 10),
    name: text.slice(text.indexOf("(") + 1, end),
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    cpuTicks: Number(fields[11]) + Number(fields[12]),
    startedAt,
    memoryPages: Number(fields[21]),
  };
};

/**
 * Undefined if there is no such process, or no `/proc`. As UTF-8, which Node reads without a buffer per file: a look at
 * all processes would otherwise take a megabyte, and a garbage collection after a few dozen commands.
 */
export const readProcStat = (pid: number): ProcStat | undefined => {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
};

/** A zombie has ended; its parent has just not reaped it yet. */
export const hasEnded = ({ state }: Pick<ProcStat, "state">): boolean => state === "Z" || state === "X";
