import { readdirSync, readFileSync } from "node:fs";

const parentOf = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1]);
  } catch {
    return 0;
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
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    const program = command.find((argument) => /\/(?:src|dist)\/[\w-]+\.[jt]s$/.test(argument));
    const isNode = command[0]?.endsWith("node") === true;
    const name = isNode && program !== undefined ? program.replace(/^.*\/|\.[jt]s$/g, "") : "sandbox";
    parts.set(parts.has(name) ? `${name} ${pid}` : name, pid);
  }
  return parts;
};

/** The sum over all processes of a server; pages that they share count in each of them. */
export const sumOverParts = async (root: number, of: (pid: number) => Promise<number>): Promise<number> => {
  const all = await Promise.all([...partsOf(root).values()].map(of));
  return all.reduce((sum, one) => sum + one, 0);
};
