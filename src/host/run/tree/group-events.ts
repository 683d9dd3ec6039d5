import { readFileSync } from "node:fs";
import { posix } from "node:path";
import type { ReachedLimit } from "../../../base/limit-notes.ts";
import type { CommandLimits } from "./limits.ts";

/** The allocation that failed may have been a large one. */
const ALMOST_ALL = 0.9;

interface GroupFolders {
  readonly version: 1 | 2;
  readonly memory: string;
  readonly pids: string;
}

const read = (folder: string, file: string): string | undefined => {
  try {
    return readFileSync(posix.join(folder, file), "utf8");
  } catch {
    return undefined;
  }
};

const counter = (text: string | undefined, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text ?? "")?.[1] ?? 0);

/**
 * Killed for memory because of this group's own limit, and not because the machine or a parent group ran out of memory.
 */
const ranOutOfMemory = ({ version, memory }: GroupFolders, memoryBytes: number): boolean => {
  const events = read(memory, version === 1 ? "memory.oom_control" : "memory.events");
  if (counter(events, "oom_kill") === 0) return false;
  if (version === 2) return counter(events, "oom") > 0;
  const peakBytes = Number(read(memory, "memory.max_usage_in_bytes") ?? 0);
  return peakBytes >= memoryBytes * ALMOST_ALL;
};

/** Whether a group above, as far as we see it, bounds processes as well. */
const isBoundAbove = (pids: string): boolean => {
  for (let dir = posix.dirname(pids); dir !== "/"; dir = posix.dirname(dir)) {
    const bound = read(dir, "pids.max");
    if (bound !== undefined && bound.trim() !== "max") return true;
  }
  return false;
};

/**
 * The kernel uses the same counter for forks that failed because of a parent group's limit, so the peak number of
 * processes decides.
 */
const ranOutOfProcesses = ({ pids }: GroupFolders, processes: number): boolean => {
  const events = read(pids, "pids.events.local") ?? read(pids, "pids.events");
  if (counter(events, "max") === 0) return false;
  const peak = read(pids, "pids.peak");
  return peak === undefined ? !isBoundAbove(pids) : Number(peak) >= processes;
};

/** The bound of its own that a control group has run into, as far as the kernel tells. */
export const limitReached = (
  folders: GroupFolders,
  { memoryBytes, processes }: Pick<CommandLimits, "memoryBytes" | "processes">,
): ReachedLimit | undefined => {
  if (ranOutOfMemory(folders, memoryBytes)) return "memory";
  return ranOutOfProcesses(folders, processes) ? "processes" : undefined;
};
