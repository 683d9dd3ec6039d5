import { globSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { ServerProcess } from "./server.ts";

const parentOf = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? undefined : Number(parent);
  } catch {
    return undefined;
  }
};

/** All living processes that were started by a process, directly or not. */
export const descendantsOf = (root: number): readonly number[] => {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(Number(name))] as const);
  const found = new Set([root]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const [pid, parent] of parents) if (parent !== undefined && found.has(parent)) found.add(pid);
  }
  found.delete(root);
  return [...found];
};

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
};

const residentBytesOf = (pid: number): number => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    // It has just ended.
    return 0;
  }
};

const isFront = (pid: number): boolean => commandOf(pid).includes("/src/front.ts\0");
const isConfined = (pid: number): boolean => commandOf(pid).includes("\0--permission\0");

/**
 * Of a server with everything that it has started; pages that processes share count in each of them. Without the front
 * that only compiles code for the next start: it comes and goes at a time of its own, and sees nothing of the client.
 */
export const residentBytesOfTree = (root: number): number => {
  const all = [root, ...descendantsOf(root)];
  const hasConfined = all.some((pid) => isFront(pid) && isConfined(pid));
  return all
    .filter((pid) => !hasConfined || !isFront(pid) || isConfined(pid))
    .reduce((sum, pid) => sum + residentBytesOf(pid), 0);
};

const programsBelow = (root: number, name: string): readonly number[] =>
  descendantsOf(root).filter((pid) => {
    const [program = ""] = commandOf(pid).split("\0");
    return program.endsWith("node") && commandOf(pid).includes(`/src/${name}.ts\0`);
  });

const programsIn = ({ process: { pid = 0 } }: ServerProcess, name: string): readonly number[] =>
  programsBelow(pid, name);

/** The same for a server that another library has started. */
export const frontBelow = (root: number): number | undefined => programsBelow(root, "front")[0];

/** Groups of the kernel that a process has made for what it confines. */
export const controlGroupsOf = (pid: number): readonly string[] =>
  globSync(`/sys/fs/cgroup/**/llmc-confined-${pid}-*`);

/** The process that parses what the client sends; the sandbox around it has another. */
export const frontOf = (server: ServerProcess): number | undefined => frontsOf(server)[0];
/** More than one while one takes the place of another. */
export const frontsOf = (server: ServerProcess): readonly number[] => programsIn(server, "front");
/** Without the one that only compiles code for the next start. */
export const confinedFrontsOf = (server: ServerProcess): readonly number[] =>
  frontsOf(server).filter(isConfined);
export const coreOf = (server: ServerProcess): number | undefined => programsIn(server, "serve-core")[0];

/** What a process has open, without the numbers that tell one socket from another. */
export const descriptorsOf = (pid: number): readonly string[] =>
  readdirSync(`/proc/${pid}/fd`)
    .flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/\d+/g, "N")];
      } catch {
        return [];
      }
    })
    .toSorted();

export const isAlive = (pid: number): boolean => parentOf(pid) !== undefined;
