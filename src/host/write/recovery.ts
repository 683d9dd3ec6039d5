import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, readdirSync, renameSync } from "node:fs";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import type { Owners } from "../os/process-owner.ts";
import type { StateLocation } from "../own-files/state-folder.ts";
import type { Located } from "../reach/located.ts";
import type { Lease, Locks } from "../state/locks/locks.ts";
import {
  type ChangeRecord,
  findJournalFolder,
  JOURNAL_NAME,
  LOG_SUFFIX,
  PART_SUFFIX,
  RECORD_SUFFIX,
  type TempNote,
} from "./journal.ts";
import { type JournalReader, readLog, readRecord } from "./journal-reader.ts";
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
  /** Files of the journal that wait for a later start: somebody is at work on them, or a stray file is out of reach. */
  readonly left: number;
  /** Changes of many files that could not be undone: the rules or the system forbid it. They wait, too. */
  readonly failed: number;
  /** Files of the journal that are damaged, or that we did not write: renamed, and never obeyed. */
  readonly refused: number;
}

type Outcome = "undone" | "gone" | "left" | "failed" | "refused";

export interface RecoveryRequest {
  /** Called only if there may be a journal. */
  readonly openLocation: () => StateLocation;
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

/** Renamed and not deleted, so that the file is ignored but can be examined later; under a name that nothing has. */
const refuseFile = ({ folder }: JournalReader, name: string): "refused" | "gone" => {
  const path = `${folder.at}/${name}`;
  if (statOf(path) === undefined) return "gone";
  renameSync(path, `${path}.refused-${randomBytes(4).toString("hex")}`);
  return "refused";
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

/** It is left while a running process holds the locks, and fails if the rules or the system forbid it. */
const tryUnderLock = async (
  keys: readonly string[],
  { locks, nowMs }: RecoveryRequest,
  work: (lease: Lease) => Promise<void>,
): Promise<"done" | "left" | "failed"> => {
  const wanted = new Set(keys);
  const isHeld = locks
    .list()
    .some(({ key, isDead, expiresAt }) => wanted.has(key) && !isDead && expiresAt.getTime() > nowMs);
  if (isHeld) return "left";
  try {
    await locks.hold([...wanted], work);
    return "done";
  } catch (error) {
    return error instanceof LlmcError && error.code === "busy" ? "left" : "failed";
  }
};

const recoverRecord = async (
  reader: JournalReader,
  name: string,
  request: RecoveryRequest,
): Promise<Outcome> => {
  const seen = readRecord(reader, name);
  if (seen === undefined) return refuseFile(reader, name);
  let wasThere = true;
  const outcome = await tryUnderLock(seen.keys, request, async (lease) => {
    // Waiting for the locks may have been waiting for the writer to end well.
    const record = readRecord(reader, name);
    wasThere = record !== undefined;
    if (record === undefined) return;
    await undoRecord(record, lease, request.reach);
    removeIfThere(`${reader.folder.at}/${name}`);
  });
  if (outcome !== "done") return outcome;
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
): Promise<{ readonly removed: number; readonly outcome: Outcome }> => {
  const { reach, owners, nowMs } = request;
  const path = `${reader.folder.at}/${name}`;
  const log = readLog(reader, name);
  if (log === undefined) {
    // The first line of a log is written after the file is made: a new one may just be beginning.
    const isRefused = statOf(path)?.isFile() !== true || isIdle(path, nowMs) || hasLines(path);
    return { removed: 0, outcome: isRefused ? refuseFile(reader, name) : "gone" };
  }
  let removed = 0;
  let outcome: Outcome = "gone";
  for (const note of log.notes) {
    if (spared.has(note.temp)) {
      outcome = "left";
    } else if (statOf(note.temp) !== undefined) {
      const work = async (): Promise<void> => {
        if (await removeTemp(note, reach)) removed++;
      };
      if ((await tryUnderLock([note.key], request, work)) !== "done") outcome = "left";
    }
  }
  if (outcome === "gone" && (owners.isGone(log.owner) || isIdle(path, nowMs))) removeIfThere(path);
  return { removed, outcome };
};

const hasLines = (path: string): boolean => (statOf(path)?.size ?? 0n) > 0n;

const tempsOf = (steps: readonly Step[]): string[] =>
  steps.flatMap((step) => [
    ...(step.kind === "delete" ? [] : [posix.join(step.dir, step.temp)]),
    ...(step.kind === "create" ? [] : [posix.join(step.dir, step.backup)]),
  ]);

const recoverIn = async (reader: JournalReader, request: RecoveryRequest): Promise<Recovered> => {
  const names = readdirSync(reader.folder.at).filter((name) => JOURNAL_NAME.test(name));
  const outcomes: Outcome[] = [];
  let removed = 0;
  const spared = new Set<string>();
  // One file that cannot be dealt with is no reason to leave the others.
  for (const name of names.filter((each) => each.endsWith(RECORD_SUFFIX))) {
    const outcome = await recoverRecord(reader, name, request).catch(() => "failed" as const);
    outcomes.push(outcome);
    if (outcome !== "left" && outcome !== "failed") continue;
    // The backups are needed to undo the change.
    for (const temp of tempsOf(readRecord(reader, name)?.steps ?? [])) spared.add(temp);
  }
  for (const name of names.filter((each) => each.endsWith(LOG_SUFFIX))) {
    const log = await recoverLog(reader, name, spared, request).catch(() => undefined);
    removed += log?.removed ?? 0;
    outcomes.push(log?.outcome ?? "left");
  }
  for (const name of names) {
    const path = `${reader.folder.at}/${name}`;
    if (name.endsWith(PART_SUFFIX) && statOf(path)?.isFile() === true && isIdle(path, request.nowMs))
      removeIfThere(path);
  }
  const count = (wanted: Outcome): number => outcomes.filter((outcome) => outcome === wanted).length;
  return {
    removed,
    undone: count("undone"),
    left: count("left"),
    failed: count("failed"),
    refused: count("refused"),
  };
};

/** Run at every start, before the first write: what a killed process left behind is undone or removed. */
export const recoverJournal = async (request: RecoveryRequest): Promise<Recovered> => {
  const nothing = { undone: 0, removed: 0, left: 0, failed: 0, refused: 0 };
  if (!existsSync(posix.join(request.workspace, STATE_DIR))) return nothing;
  const location = request.openLocation();
  const folder = findJournalFolder(location);
  if (folder === undefined) return nothing;
  try {
    return await recoverIn({ ...location, folder }, request);
  } finally {
    folder.close();
  }
};
