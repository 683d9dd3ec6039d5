import { lstatSync, readdirSync, renameSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import type { Owners } from "../os/process-owner.ts";
import type { Located } from "../reach/located.ts";
import type { Lease, Locks } from "../state/locks/locks.ts";
import {
  type ChangeRecord,
  findJournalFolder,
  JOURNAL_NAME,
  type JournalLocation,
  LOG_SUFFIX,
  PART_SUFFIX,
  RECORD_SUFFIX,
  type TempNote,
} from "./journal.ts";
import { hasAnotherKey, type JournalReader, readLog, readRecord } from "./journal-reader.ts";
import { removeMade } from "./make-directories.ts";
import { removeIfThere, type Step, undoStep } from "./steps.ts";
import type { WriteReach } from "./write-reach.ts";
import { statOf, syncDirectory } from "./write-target.ts";

/** What was found of writers that ended in the middle. */
export interface Recovered {
  /** Changes of many files that were undone. */
  readonly undone: number;
  /** Temporary files removed. */
  readonly removed: number;
  /** Files of the journal that wait for a later start: somebody may be at work on them, or they are out of reach. */
  readonly left: number;
  /** Files of the journal that we did not write: renamed, and never obeyed. */
  readonly refused: number;
  /** Whether some of those carry the id of another key. */
  readonly hasOtherKey?: true;
}

/** Explains refused files to the operator, in the log. */
export const explainRefused = ({ hasOtherKey }: Pick<Recovered, "hasOtherKey">): string =>
  hasOtherKey === true
    ? "the write journal contains records that were signed with another key: the file `key` in llmc's state folder has been lost or replaced, or the workspace comes from another user. They were not applied, but renamed to *.refused: put the old key back, remove that suffix and start again, or check the files of the last change yourself"
    : "the write journal contains records that llmc did not write; they were not applied, but renamed to *.refused";

export interface RecoveryRequest {
  /** Called only if there is a journal. */
  readonly openLocation: () => JournalLocation;
  readonly workspace: string;
  readonly reach: WriteReach;
  readonly locks: Locks;
  readonly owners: Owners;
  readonly nowMs: number;
}

// A process that cannot be seen from here, in another container, may still use its log; after this time without a
// write it starts a new one.
const IDLE_MS = 3_600_000;

const isIdle = (path: string, nowMs: number): boolean => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && nowMs - stats.mtimeMs > IDLE_MS;
};

const REFUSED_SUFFIX = ".refused";

/** Renamed and not deleted, so that the file is ignored but can be examined later. */
const refuseFile = (reader: JournalReader, name: string): "refused" | "other key" => {
  const path = `${reader.folder.at}/${name}`;
  const outcome = hasAnotherKey(reader, name) ? "other key" : "refused";
  if (statOf(path) !== undefined) renameSync(path, `${path}${REFUSED_SUFFIX}`);
  return outcome;
};

/** The directory if it is still at its path and the caller's rules allow a change there; undefined: it is gone. */
const reopen = async (path: string, reach: WriteReach): Promise<Located | undefined> => {
  try {
    const dir = await reach.locate(path, (realPath) => reach.refuseOutside(path, realPath));
    if (dir.realPath === path && dir.stats.isDirectory()) return dir;
    dir.close();
    return undefined;
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT" || systemErrorCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
};

const undoRecord = async ({ steps, made }: ChangeRecord, lease: Lease, reach: WriteReach): Promise<void> => {
  for (const { dir, name } of steps) reach.refuseTarget(name, posix.join(dir, name));
  for (const step of steps.toReversed()) {
    const dir = await reopen(step.dir, reach);
    if (dir === undefined) continue;
    try {
      lease.commit(() => undoStep(step, dir.at));
      await syncDirectory(dir);
    } finally {
      dir.close();
    }
  }
  await removeMade(made, reach);
};

/**
 * Returns whether the work was done. It is not done while a running process holds the locks, or if the rules or the
 * system forbid it.
 */
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
    if (error instanceof LlmcError || systemErrorCode(error) !== undefined) return false;
    throw error;
  }
};

const recoverRecord = async (
  reader: JournalReader,
  name: string,
  request: RecoveryRequest,
): Promise<"undone" | "gone" | "left" | "refused" | "other key"> => {
  const seen = readRecord(reader, name);
  if (seen === undefined) {
    const isThere = statOf(`${reader.folder.at}/${name}`) !== undefined;
    const outcome = refuseFile(reader, name);
    return isThere ? outcome : "gone";
  }
  let wasThere = true;
  const isDone = await tryUnderLock(seen.keys, request, async (lease) => {
    // Waiting for the locks may have been waiting for the writer to end well.
    const record = readRecord(reader, name);
    wasThere = record !== undefined;
    if (record === undefined) return;
    await undoRecord(record, lease, request.reach);
    removeIfThere(`${reader.folder.at}/${name}`);
  });
  if (!isDone) return "left";
  return wasThere ? "undone" : "gone";
};

const removeTemp = async ({ temp }: TempNote, reach: WriteReach): Promise<boolean> => {
  const dir = await reopen(posix.dirname(temp), reach);
  if (dir === undefined) return false;
  try {
    const at = `${dir.at}/${posix.basename(temp)}`;
    return statOf(at)?.isFile() === true && removeIfThere(at);
  } finally {
    dir.close();
  }
};

const recoverLog = async (
  reader: JournalReader,
  name: string,
  spared: ReadonlySet<string>,
  request: RecoveryRequest,
): Promise<{
  readonly removed: number;
  readonly isLeft: boolean;
  readonly refused?: "refused" | "other key";
}> => {
  const { reach, owners, nowMs } = request;
  const path = `${reader.folder.at}/${name}`;
  const log = readLog(reader, name);
  if (log === undefined) {
    // The first line of a log is written after the file is made: a new one may just be beginning.
    const isRefused = statOf(path)?.isFile() !== true || isIdle(path, nowMs) || hasLines(path);
    return { removed: 0, isLeft: false, ...(isRefused ? { refused: refuseFile(reader, name) } : {}) };
  }
  let removed = 0;
  let isLeft = false;
  for (const note of log.notes) {
    if (spared.has(note.temp)) {
      isLeft = true;
    } else if (statOf(note.temp) !== undefined) {
      const work = async (): Promise<void> => {
        if (await removeTemp(note, reach)) removed++;
      };
      if (!(await tryUnderLock([note.key], request, work))) isLeft = true;
    }
  }
  if (!isLeft && (owners.isGone(log.owner) || isIdle(path, nowMs))) removeIfThere(path);
  return { removed, isLeft };
};

const hasLines = (path: string): boolean => (statOf(path)?.size ?? 0n) > 0n;

const tempsOf = (steps: readonly Step[]): string[] =>
  steps.flatMap((step) => [
    ...(step.kind === "delete" ? [] : [posix.join(step.dir, step.temp)]),
    ...(step.kind === "create" ? [] : [posix.join(step.dir, step.backup)]),
  ]);

const recoverIn = async (reader: JournalReader, request: RecoveryRequest): Promise<Recovered> => {
  const names = readdirSync(reader.folder.at).filter((name) => JOURNAL_NAME.test(name));
  let [undone, removed, left] = [0, 0, 0];
  const refused: ("refused" | "other key")[] = [];
  const spared = new Set<string>();
  for (const name of names.filter((each) => each.endsWith(RECORD_SUFFIX))) {
    const outcome = await recoverRecord(reader, name, request);
    if (outcome === "undone") undone++;
    if (outcome === "refused" || outcome === "other key") refused.push(outcome);
    if (outcome !== "left") continue;
    left++;
    // The backups are needed to undo the change.
    for (const temp of tempsOf(readRecord(reader, name)?.steps ?? [])) spared.add(temp);
  }
  for (const name of names.filter((each) => each.endsWith(LOG_SUFFIX))) {
    const outcome = await recoverLog(reader, name, spared, request);
    removed += outcome.removed;
    if (outcome.isLeft) left++;
    if (outcome.refused !== undefined) refused.push(outcome.refused);
  }
  for (const name of names) {
    const path = `${reader.folder.at}/${name}`;
    if (name.endsWith(PART_SUFFIX) && isIdle(path, request.nowMs)) removeIfThere(path);
  }
  const hasOtherKey = refused.includes("other key") ? { hasOtherKey: true as const } : {};
  return { undone, removed, left, refused: refused.length, ...hasOtherKey };
};

/** Run at every start, before the first write: what a killed process left behind is undone or removed. */
export const recoverJournal = async (request: RecoveryRequest): Promise<Recovered> => {
  const folder = findJournalFolder(request.workspace);
  if (folder === undefined) return { undone: 0, removed: 0, left: 0, refused: 0 };
  try {
    return await recoverIn({ ...request.openLocation(), folder }, request);
  } finally {
    folder.close();
  }
};
