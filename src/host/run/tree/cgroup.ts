import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReachedLimit } from "../../../base/limit-notes.ts";
import { limitReached } from "./group-events.ts";
import type { CommandLimits } from "./limits.ts";

/** A control group around one command: the kernel bounds all its processes together. */
export interface CommandGroup {
  /** Files that a process writes its own id to in order to enter. */
  readonly entrances: readonly string[];
  /** The limit that was hit, if one was. */
  hit(): ReachedLimit | undefined;
  remove(): Promise<void>;
}

/** Where new groups are made, by what they bound. */
interface Parents {
  readonly version: 1 | 2;
  readonly memory: string;
  readonly pids: string;
}

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

/** Mount points of the hierarchies that we need, and our own place in them. */
const findParents = (): readonly Parents[] => {
  const mounts = read("/proc/self/mounts")
    .split("\n")
    .map((line) => line.split(" "));
  const groups = new Map(
    read("/proc/self/cgroup")
      .trim()
      .split("\n")
      .map((line) => {
        const [, controllers = "", group = "/"] = line.split(":");
        return [controllers, group] as const;
      }),
  );
  const mountOf = (type: string, controller: string): string | undefined =>
    mounts.find(
      ([, , kind, flags = ""]) =>
        kind === type && (controller === "" || flags.split(",").includes(controller)),
    )?.[1];
  const found: Parents[] = [];
  const [memory, pids] = [mountOf("cgroup", "memory"), mountOf("cgroup", "pids")];
  if (memory !== undefined && pids !== undefined)
    found.push({
      version: 1,
      memory: posix.join(memory, groups.get("memory") ?? "/"),
      pids: posix.join(pids, groups.get("pids") ?? "/"),
    });
  const unified = mountOf("cgroup2", "");
  // A group with processes in it cannot hand controllers down; the nearest one above that does, and is ours, can.
  for (let group = groups.get("") ?? "/"; unified !== undefined; group = posix.dirname(group)) {
    const dir = posix.join(unified, group);
    const controllers = read(posix.join(dir, "cgroup.subtree_control")).trim().split(/\s+/);
    if (controllers.includes("memory") && controllers.includes("pids"))
      found.push({ version: 2, memory: dir, pids: dir });
    // The parent groups of an ordinary user belong to that user. Root could otherwise leave its service's group and its
    // limits.
    if (group === "/" || process.getuid?.() === 0) break;
  }
  return found;
};

const REMOVE_TRIES = 20;
const REMOVE_WAIT_MS = 5;

/** Empty once every process in it is gone, which the kernel may notice a moment later. */
const removeDir = async (dir: string): Promise<void> => {
  for (let attempt = 0; attempt < REMOVE_TRIES; attempt++) {
    try {
      rmdirSync(dir);
      return;
    } catch {
      await sleep(REMOVE_WAIT_MS);
    }
  }
};

const makeGroup = ({ version, memory, pids }: Parents, name: string, limits: CommandLimits): CommandGroup => {
  const dirs = [...new Set([posix.join(memory, name), posix.join(pids, name)])];
  const [memoryDir = "", pidsDir = memoryDir] = dirs;
  const remove = async (): Promise<void> => void (await Promise.all(dirs.map(removeDir)));
  try {
    for (const dir of dirs) mkdirSync(dir);
    const set = (dir: string, file: string, value: number): void =>
      writeFileSync(posix.join(dir, file), String(value));
    if (version === 1) {
      set(memoryDir, "memory.limit_in_bytes", limits.memoryBytes);
      set(pidsDir, "pids.max", limits.processes);
    } else {
      set(memoryDir, "memory.max", limits.memoryBytes);
      set(memoryDir, "pids.max", limits.processes);
    }
    try {
      set(
        memoryDir,
        version === 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max",
        version === 1 ? limits.memoryBytes : 0,
      );
    } catch {
      // Machines without accounting of swap have no such file.
    }
  } catch (error) {
    void remove();
    throw error;
  }
  return {
    entrances: dirs.map((dir) => posix.join(dir, "cgroup.procs")),
    hit: () => limitReached({ version, memory: memoryDir, pids: pidsDir }, limits),
    remove,
  };
};

export interface CommandGroups {
  /** Undefined if this machine does not let us create control groups. */
  open(name: string, limits: CommandLimits): CommandGroup | undefined;
  readonly works: boolean;
}

/** Tested once by creating a group, because there is no other way to know whether a hierarchy can be used. */
export const createCommandGroups = (): CommandGroups => {
  const trial: CommandLimits = { memoryBytes: 64 * 1024 * 1024, processes: 16, fileBytes: 0 };
  const parents = findParents().find((candidate) => {
    try {
      const made = makeGroup(candidate, `llmc-trial-${randomBytes(8).toString("hex")}`, trial);
      void made.remove();
      return true;
    } catch {
      return false;
    }
  });
  return {
    works: parents !== undefined,
    open: (name, limits) => {
      if (parents === undefined) return undefined;
      try {
        return makeGroup(parents, `llmc-${name}`, limits);
      } catch {
        return undefined;
      }
    },
  };
};

/** The program behind a shell that enters the groups first; nothing else is between. */
export const enterGroup = (
  { entrances }: CommandGroup,
  { file, args }: { readonly file: string; readonly args: readonly string[] },
): { readonly file: string; readonly args: readonly string[] } => ({
  file: "/bin/sh",
  args: [
    "-c",
    // The shell's own id, written by the shell itself, and then the shell becomes the program.
    'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit 126; shift; n=$((n-1)); done; exec "$@"',
    "sh",
    String(entrances.length),
    ...entrances,
    file,
    ...args,
  ],
});
