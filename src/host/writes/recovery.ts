import { readdirSync, statSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import type { Located } from "../files/located.ts";
import type { Lease, Locks } from "../locks/locks.ts";
import type { Owners } from "../locks/owner.ts";
import { removeMade } from "./dirs.ts";
import { codeOf } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import {
  type ChangeRecord,
  isRealFolder,
  JOURNAL_NAME,
  LOG_SUFFIX,
  PART_SUFFIX,
  RECORD_SUFFIX,
  type TempNote,
} from "./journal.ts";
import { readLog, readRecord } from "./journal-reader.ts";
import { lookAt, syncDirectory } from "./place.ts";
import { removeIfThere, type Step, undoStep } from "./steps.ts";

/** What was found of writers that ended in the middle. */
export interface Recovered {
  /** Changes of many files that were undone. */
  readonly undone: number;
  /** Temporary files removed. */
  readonly removed: number;
  /** Files of the journal that wait for a later start: somebody may be at work on them, or they are out of reach. */
  readonly left: number;
}

export interface RecoveryRequest {
  readonly folder: string;
  readonly ground: WriteGround;
  readonly locks: Locks;
  readonly owners: Owners;
  readonly nowMs: number;
}

// A process that cannot be seen from here, in another container, may still use its log; if it does not for so long,
// it makes a new one when it writes again.
const IDLE_MS = 3_600_000;

const isIdle = (path: string, nowMs: number): boolean => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && nowMs - stats.mtimeMs > IDLE_MS;
};

const listJournal = (folder: string): readonly string[] =>
  isRealFolder(folder)
    ? readdirSync(folder)
        .filter((name) => JOURNAL_NAME.test(name))
        .map((name) => posix.join(folder, name))
    : [];

/** The directory if it is still at its path and the caller's rules allow a change there; undefined: it is gone. */
const reopen = async (path: string, ground: WriteGround): Promise<Located | undefined> => {
  try {
    const dir = await ground.locate(path, (realPath) => ground.refuseOutside(path, realPath));
    if (dir.realPath === path && dir.stats.isDirectory()) return dir;
    dir.close();
    return undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
};

const undoRecord = async (
  { steps, made }: ChangeRecord,
  lease: Lease,
  ground: WriteGround,
): Promise<void> => {
  for (const { dir, name } of steps) ground.refuseTarget(name, posix.join(dir, name));
  for (const step of steps.toReversed()) {
    const dir = await reopen(step.dir, ground);
    if (dir === undefined) continue;
    try {
      lease.commit(() => undoStep(step, dir.at));
      await syncDirectory(dir);
    } finally {
      dir.close();
    }
  }
  await removeMade(made, ground);
};

/** Whether the work was done: not while somebody alive holds the keys, nor where the rules or the system forbid it. */
const tryUnderLock = async (
  keys: readonly string[],
  { locks, nowMs }: RecoveryRequest,
  work: (lease: Lease) => Promise<void>,
): Promise<boolean> => {
  const wanted = new Set(keys);
  const isHeld = locks
    .list()
    .some(({ key, isDead, expiresAt }) => wanted.has(key) && !isDead && expiresAt.getTime() > nowMs);
  if (isHeld) return false;
  try {
    await locks.hold([...wanted], work);
    return true;
  } catch (error) {
    if (error instanceof LlmcError || codeOf(error) !== undefined) return false;
    throw error;
  }
};

const recoverRecord = async (path: string, request: RecoveryRequest): Promise<"undone" | "gone" | "left"> => {
  const seen = readRecord(path);
  // What this program did not write is not for it to remove.
  if (seen === undefined) return "gone";
  let wasThere = true;
  const isDone = await tryUnderLock(seen.keys, request, async (lease) => {
    // Waiting for the locks may have been waiting for the writer to end well.
    const record = readRecord(path);
    wasThere = record !== undefined;
    if (record === undefined) return;
    await undoRecord(record, lease, request.ground);
    removeIfThere(path);
  });
  if (!isDone) return "left";
  return wasThere ? "undone" : "gone";
};

const removeTemp = async ({ temp }: TempNote, ground: WriteGround): Promise<boolean> => {
  const dir = await reopen(posix.dirname(temp), ground);
  if (dir === undefined) return false;
  try {
    const at = `${dir.at}/${posix.basename(temp)}`;
    return lookAt(at)?.isFile() === true && removeIfThere(at);
  } finally {
    dir.close();
  }
};

const recoverLog = async (
  path: string,
  spared: ReadonlySet<string>,
  request: RecoveryRequest,
): Promise<{ readonly removed: number; readonly isLeft: boolean }> => {
  const { ground, owners, nowMs } = request;
  const log = readLog(path);
  if (log === undefined) return { removed: 0, isLeft: false };
  let removed = 0;
  let isLeft = false;
  for (const note of log.notes) {
    if (spared.has(note.temp)) {
      isLeft = true;
    } else if (lookAt(note.temp) !== undefined) {
      const work = async (): Promise<void> => {
        if (await removeTemp(note, ground)) removed++;
      };
      if (!(await tryUnderLock([note.key], request, work))) isLeft = true;
    }
  }
  if (!isLeft && (owners.isGone(log.owner) || isIdle(path, nowMs))) removeIfThere(path);
  return { removed, isLeft };
};

const tempsOf = (steps: readonly Step[]): string[] =>
  steps.flatMap((step) => [
    ...(step.kind === "delete" ? [] : [posix.join(step.dir, step.temp)]),
    ...(step.kind === "create" ? [] : [posix.join(step.dir, step.backup)]),
  ]);

/** Run at every start, before the first write: what a killed process left behind is undone or removed. */
export const recoverJournal = async (request: RecoveryRequest): Promise<Recovered> => {
  const paths = listJournal(request.folder);
  let [undone, removed, left] = [0, 0, 0];
  const spared = new Set<string>();
  for (const path of paths.filter((name) => name.endsWith(RECORD_SUFFIX))) {
    const outcome = await recoverRecord(path, request);
    if (outcome === "undone") undone++;
    if (outcome !== "left") continue;
    left++;
    // Its backups are the only way back.
    for (const temp of tempsOf(readRecord(path)?.steps ?? [])) spared.add(temp);
  }
  for (const path of paths.filter((name) => name.endsWith(LOG_SUFFIX))) {
    const outcome = await recoverLog(path, spared, request);
    removed += outcome.removed;
    if (outcome.isLeft) left++;
  }
  for (const path of paths) {
    if (path.endsWith(PART_SUFFIX) && isIdle(path, request.nowMs)) removeIfThere(path);
  }
  return { undone, removed, left };
};
