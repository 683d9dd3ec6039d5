import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded, readProcStat } from "../../os/proc-stat.ts";

/** Names one process for good: an id alone is used again by the system. */
export interface ProcessKey {
  readonly pid: number;
  /** In clock ticks since boot. */
  readonly startedAt: string;
}

const readProc = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
};

/** Parent of the kernel's own threads: most of the list on a bare machine, and never a command's. */
const KERNEL_THREADS = 2;

export const identify = (pid: number): ProcessKey | undefined => {
  const stat = readProcStat(pid);
  return stat === undefined || hasEnded(stat) ? undefined : { pid, startedAt: stat.startedAt };
};

/** A process that only waits to be reaped counts as gone: it holds and does nothing. */
export const isAlive = ({ pid, startedAt }: ProcessKey): boolean => identify(pid)?.startedAt === startedAt;

/** How the processes of one command are known again after they left their parent, group and session. */
export interface TreeMark {
  /** In the environment, unless a process cleared it. */
  readonly id: string;
  /** A limit without effect on ordinary processes, inherited by all: unique by its value. */
  readonly realtimeLimit: string;
}

const carries = (pid: number, { id, realtimeLimit }: TreeMark): boolean =>
  readProc(pid, "limits").includes(` ${realtimeLimit} `) ||
  readProc(pid, "environ").includes(`LLMC_COMMAND_ID=${id}`);

/**
 * Living processes of the tree that started with `root`: its descendants, its group and session, and those
 * that carry the mark. Never the caller, nor what is older than the root, whatever the mark says.
 */
export const findTree = (
  { pid: root, startedAt }: ProcessKey,
  rootHasEnded: boolean,
  mark: TreeMark | undefined,
): readonly ProcessKey[] => {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcStat(Number(name)) ?? [])
    .filter((stat) => stat.pid !== process.pid && stat.parent !== KERNEL_THREADS && !hasEnded(stat))
    .filter((stat) => Number(stat.startedAt) >= Number(startedAt));
  // An id stays reserved while a group or session bears it: seen again after the end, it belongs to another process.
  const isReused = rootHasEnded && all.some(({ pid }) => pid === root);
  const found = new Set<number>();
  for (const { pid, group, session } of all) {
    const isNear = pid === root || group === root || session === root;
    if ((isNear && !isReused) || (mark !== undefined && carries(pid, mark))) found.add(pid);
  }
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid)).map(({ pid, startedAt }) => ({ pid, startedAt }));
};

/** Skips processes that have ended, even if their pid was reused. */
export const sendSignal = (key: ProcessKey, signal: NodeJS.Signals): void => {
  if (!isAlive(key)) return;
  try {
    process.kill(key.pid, signal);
  } catch {
    // Gone in between, or no longer ours to signal.
  }
};

/** Only a process in uninterruptible sleep, such as one waiting for a dead network disk, cannot be ended. */
const MAX_END_MS = 5000;

export const untilTrue = async (claim: () => boolean): Promise<void> => {
  const giveUpAt = performance.now() + MAX_END_MS;
  for (let waitMs = 1; !claim() && performance.now() < giveUpAt; waitMs = Math.min(waitMs * 2, 50))
    await sleep(waitMs);
};

/** A process that forks while the list is read can be missed once, hence two empty lists in a row. */
export const killUntilGone = async (find: () => readonly ProcessKey[]): Promise<void> => {
  const giveUpAt = performance.now() + MAX_END_MS;
  for (let empty = 0; empty < 2 && performance.now() < giveUpAt; ) {
    const found = find();
    empty = found.length === 0 ? empty + 1 : 0;
    for (const key of found) sendSignal(key, "SIGKILL");
    if (found.length > 0) await untilTrue(() => !found.some(isAlive));
  }
};
