import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { posix } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

type Controller = "memory" | "cpu" | "pids";

/** Where a control group for one controller can be made. */
export interface GroupParent {
  readonly version: 1 | 2;
  readonly folder: string;
}

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

/** Candidates from the kernel's lists, nearest first. */
export const groupParents = (
  controller: Controller,
  mountList: string,
  groupList: string,
  readControl: (path: string) => string,
  isRoot: boolean,
): readonly GroupParent[] => {
  const mounts = mountList.split("\n").map((line) => line.split(" "));
  const own = (name: string): string =>
    groupList
      .split("\n")
      .map((line) => line.split(":"))
      .find(([, controllers = ""]) =>
        name === "" ? controllers === "" : controllers.split(",").includes(name),
      )?.[2] ?? "/";
  const found: GroupParent[] = [];
  const single = mounts.find(
    ([, , type, flags = ""]) => type === "cgroup" && flags.split(",").includes(controller),
  )?.[1];
  if (single !== undefined) found.push({ version: 1, folder: posix.resolve(single, `.${own(controller)}`) });
  const unified = mounts.find(([, , type]) => type === "cgroup2")?.[1];
  // A group with processes in it cannot hand controllers down; the nearest one above that does, and is ours, can.
  for (let group = own(""); unified !== undefined; group = posix.dirname(group)) {
    const folder = posix.resolve(unified, `.${group}`);
    const controls = readControl(posix.join(folder, "cgroup.subtree_control")).trim().split(/\s+/);
    if (controls.includes(controller)) found.push({ version: 2, folder });
    // An ordinary user's groups end where the user's own ends; root would leave its service's group and its limits.
    if (group === "/" || isRoot) break;
  }
  return found;
};

/** Microseconds: a program that starts uses a tenth of a second at once, and must not be slowed down by its share. */
const CPU_PERIOD = 500_000;

const settings = (
  controller: Controller,
  version: 1 | 2,
  value: number,
): readonly { readonly file: string; readonly text: string; readonly isOptional?: boolean }[] => {
  if (controller === "memory") {
    const bytes = String(value * 1024 * 1024);
    // Machines without accounting of swap have no such file.
    return version === 1
      ? [
          { file: "memory.limit_in_bytes", text: bytes },
          { file: "memory.memsw.limit_in_bytes", text: bytes, isOptional: true },
        ]
      : [
          { file: "memory.max", text: bytes },
          { file: "memory.swap.max", text: "0", isOptional: true },
        ];
  }
  if (controller === "pids") return [{ file: "pids.max", text: String(value) }];
  const quota = Math.round(CPU_PERIOD * value);
  return version === 1
    ? [
        { file: "cpu.cfs_period_us", text: String(CPU_PERIOD) },
        { file: "cpu.cfs_quota_us", text: String(quota) },
      ]
    : [{ file: "cpu.max", text: `${quota} ${CPU_PERIOD}` }];
};

const REMOVE_TRIES = 40;
const REMOVE_WAIT_MS = 5;

/** Empty once the process is gone, which the kernel may notice a moment later. */
const removeFolder = async (folder: string): Promise<void> => {
  for (let attempt = 0; attempt < REMOVE_TRIES; attempt++) {
    try {
      rmdirSync(folder);
      return;
    } catch {
      await sleep(REMOVE_WAIT_MS);
    }
  }
};

export interface ResourceGroups {
  /** The version of the control groups that hold it; undefined where this machine lets us make none. */
  readonly memory: 1 | 2 | undefined;
  readonly cpu: 1 | 2 | undefined;
  readonly threads: 1 | 2 | undefined;
  /** Takes a few milliseconds, in which the kernel waits for all CPUs; the process runs on meanwhile. */
  enter(pid: number): Promise<void>;
  /** Whether the kernel has ended a process in the group for its memory; known until the group is removed. */
  wasOverMemory(): boolean;
  remove(): Promise<void>;
}

const applyLimit = (folder: string, controller: Controller, version: 1 | 2, value: number): void => {
  for (const { file, text, isOptional = false } of settings(controller, version, value)) {
    try {
      writeFileSync(posix.join(folder, file), text);
    } catch (thrown) {
      if (!isOptional) throw thrown;
    }
  }
};

const PREFIX = "llmc-confined-";
const STALE_MS = 60_000;

/** Those of processes that were killed: empty, or the kernel refuses. */
const removeStale = (parent: string): void => {
  for (const name of readdirSync(parent)) {
    const owner = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split("-")[0] : undefined;
    if (owner === undefined || existsSync(`/proc/${owner}`)) continue;
    const folder = posix.join(parent, name);
    try {
      if (Date.now() - statSync(folder).mtimeMs > STALE_MS) rmdirSync(folder);
    } catch {
      // Somebody else was faster, or a process is still in it.
    }
  }
};

const makeGroup = (
  { version, folder: parent }: GroupParent,
  controller: Controller,
  name: string,
  value: number,
): GroupParent => {
  const folder = posix.join(parent, name);
  // A process enters from a group below the same parent, which takes the right to write there, too.
  if (version === 2) accessSync(posix.join(parent, "cgroup.procs"), constants.W_OK);
  mkdirSync(folder);
  try {
    removeStale(parent);
    applyLimit(folder, controller, version, value);
    return { version, folder };
  } catch (thrown) {
    rmdirSync(folder);
    throw thrown;
  }
};

const tryParents = (controller: Controller, name: string, value: number): GroupParent | undefined => {
  const lists = [read("/proc/self/mounts"), read("/proc/self/cgroup")] as const;
  for (const parent of groupParents(controller, ...lists, read, process.getuid?.() === 0)) {
    try {
      return makeGroup(parent, controller, name, value);
    } catch {
      // Not ours, or a hierarchy without this controller: only an attempt shows it.
    }
  }
  return undefined;
};

/** In version 2, a process is in one group for everything: a further controller is added to it. */
const addController = (
  first: GroupParent | undefined,
  controller: Controller,
  name: string,
  value: number,
): GroupParent | undefined => {
  if (first?.version !== 2) return tryParents(controller, name, value);
  try {
    applyLimit(first.folder, controller, 2, value);
    return first;
  } catch {
    return undefined;
  }
};

/** How often the kernel has ended a process for the memory of its group. */
const memoryKills = ({ version, folder }: GroupParent): number => {
  const file = version === 1 ? "memory.oom_control" : "memory.events";
  return Number(/^oom_kill (\d+)$/m.exec(read(posix.join(folder, file)))?.[1] ?? 0);
};

let groupsMade = 0;

export const openGroups = (memoryMb: number, cpuShare: number, maxThreads: number): ResourceGroups => {
  const name = `${PREFIX}${process.pid}-${groupsMade++}`;
  const memory = tryParents("memory", name, memoryMb);
  const cpu = addController(memory, "cpu", name, cpuShare);
  const threads = addController(memory ?? cpu, "pids", name, maxThreads);
  // Controllers can share a hierarchy, also in version 1.
  const folders = [...new Set([memory, cpu, threads].flatMap((group) => group?.folder ?? []))];
  return {
    memory: memory?.version,
    cpu: cpu?.version,
    threads: threads?.version,
    enter: async (pid) => {
      for (const folder of folders) await writeFile(posix.join(folder, "cgroup.procs"), String(pid));
    },
    wasOverMemory: () => memory !== undefined && memoryKills(memory) > 0,
    remove: async () => {
      await Promise.all(folders.map(removeFolder));
    },
  };
};
