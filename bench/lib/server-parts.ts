import { existsSync, readdirSync, readFileSync } from "node:fs";

const parentOf = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1]);
  } catch {
    return 0;
  }
};

const commandOf = (pid: number): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    // It has just ended.
    return [];
  }
};

/** The processes of a server by what they are: `supervise`, `front`, `serve-core`; a sandbox has one of its own. */
export const partsOf = (root: number): ReadonlyMap<string, number> => {
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const parts = new Map<string, number>();
  for (const pid of pids) {
    const ancestors = [pid, parentOf(pid), parentOf(parentOf(pid)), parentOf(parentOf(parentOf(pid)))];
    if (!ancestors.includes(root)) continue;
    const command = commandOf(pid);
    const program = command.find((argument) => /\/(?:src|dist)\/[\w-]+\.[jt]s$/.test(argument));
    const isNode = command[0]?.endsWith("node") === true;
    const name = isNode && program !== undefined ? program.replace(/^.*\/|\.[jt]s$/g, "") : "sandbox";
    parts.set(parts.has(name) ? `${name} ${pid}` : name, pid);
  }
  return parts;
};

/** The sum over all processes of a server; pages that they share count in each of them. */
export const sumOverParts = async (root: number, of: (pid: number) => Promise<number>): Promise<number> => {
  const parts = [...partsOf(root).values()];
  // Programs that the core starts may end in the meantime; the server itself may not.
  const all = await Promise.all(parts.map((pid) => (pid === root ? of(pid) : of(pid).catch(() => 0))));
  return all.reduce((sum, one) => sum + (Number.isNaN(one) ? 0 : one), 0);
};

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;

/** Of a process, and of those that it started and that have ended. */
const cpuMsOf = (pid: number): number => {
  try {
    // The name in brackets may hold spaces; the times are the 12th to 15th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
  } catch {
    return 0;
  }
};

/** Processor time of all processes of a server so far, those that have ended too; NaN where there is no /proc. */
export const cpuMsOfParts = (root: number): number =>
  existsSync("/proc/self/stat")
    ? [...partsOf(root).values()].reduce((sum, pid) => sum + cpuMsOf(pid), 0)
    : Number.NaN;
