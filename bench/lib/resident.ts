import { readFile, writeFile } from "node:fs/promises";

const statusMb = async (pid: number, field: "VmRSS" | "VmHWM"): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
};

/** Resident memory of a process, in MiB (Linux). */
export const residentMb = (pid: number): Promise<number> => statusMb(pid, "VmRSS");

/** The same with a page that several processes share divided among them: these may be added up. */
export const proportionalMb = async (pid: number): Promise<number> => {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024;
};

/** The most it was since the last reset: what a look now and then would miss. */
export const peakMb = (pid: number): Promise<number> => statusMb(pid, "VmHWM");

/** From proc(5): a 5 sets the peak to what is resident now. */
export const resetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, "5");
