import { readdirSync, readFileSync } from "node:fs";

const PAGE_MB = 4096 / 1024 / 1024;
const EVERY_MS = 50;

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

/** The processes of interpreters that a server has started, itself or through others. */
const guestsOf = (server: number): readonly number[] => {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const parent = Number(read(`/proc/${name}/stat`).split(") ").at(-1)?.split(" ")[1]);
    if (parent > 0) parents.set(Number(name), parent);
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined; at = parents.get(at))
      if (at === server) return true;
    return false;
  };
  return [...parents.keys()].filter(
    (pid) => isBelow(pid) && /-main\..*"memoryBytes"/.test(read(`/proc/${pid}/cmdline`)),
  );
};

/** Resident memory of all of them together while something runs: its peak in MiB, and their number then. */
export const peakOfGuests = async (
  server: number,
  work: Promise<unknown>,
): Promise<{ readonly mb: number; readonly processes: number }> => {
  let peak = { mb: 0, processes: 0 };
  const timer = setInterval(() => {
    const sizes = guestsOf(server).map(
      (pid) => Number(read(`/proc/${pid}/statm`).split(" ")[1] ?? 0) * PAGE_MB,
    );
    const mb = sizes.reduce((sum, size) => sum + size, 0);
    if (mb > peak.mb) peak = { mb, processes: sizes.length };
  }, EVERY_MS);
  await work.finally(() => clearInterval(timer));
  return peak;
};
