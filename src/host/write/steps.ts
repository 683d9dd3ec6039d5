import { type BigIntStats, linkSync, renameSync, unlinkSync } from "node:fs";
import { systemErrorCode } from "../../base/system-error.ts";
import { statOf } from "./write-target.ts";

/** The identity of a file, as texts that a journal can hold. A rename or a link changes none of them. */
export interface FileId {
  readonly dev: string;
  readonly ino: string;
  readonly size: string;
  readonly mtimeNs: string;
}

export const idOf = (stats: BigIntStats): FileId => ({
  dev: String(stats.dev),
  ino: String(stats.ino),
  size: String(stats.size),
  mtimeNs: String(stats.mtimeNs),
});

const isThat = (stats: BigIntStats | undefined, id: FileId): boolean =>
  stats !== undefined &&
  String(stats.dev) === id.dev &&
  String(stats.ino) === id.ino &&
  String(stats.size) === id.size &&
  String(stats.mtimeNs) === id.mtimeNs;

/** One file's part in a change of many. `temp` and `backup` are names beside it. */
export type Step = {
  /** Real path of the directory. */
  readonly dir: string;
  readonly name: string;
} & (
  | {
      readonly kind: "replace";
      readonly temp: string;
      readonly made: FileId;
      readonly backup: string;
      readonly old: FileId;
    }
  | { readonly kind: "create"; readonly temp: string; readonly made: FileId }
  | { readonly kind: "delete"; readonly backup: string; readonly old: FileId }
);

// Disks without hard links, and files whose owner does not let us make one (fs.protected_hardlinks).
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

const exists = (): Error => Object.assign(new Error("It exists."), { code: "EEXIST" });

/**
 * Renames a file to a name that must not exist. On disks without hard links, a short race between check and rename
 * remains.
 */
export const moveToFree = (from: string, to: string): void => {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!NO_LINKS.includes(systemErrorCode(error) ?? "")) throw error;
    if (statOf(to) !== undefined) throw exists();
    renameSync(from, to);
    return;
  }
  try {
    unlinkSync(from);
  } catch (error) {
    unlinkSync(to);
    throw error;
  }
};

const keepAside = (name: string, backup: string): void => {
  try {
    linkSync(name, backup);
  } catch (error) {
    if (!NO_LINKS.includes(systemErrorCode(error) ?? "")) throw error;
    renameSync(name, backup);
  }
};

export const removeIfThere = (path: string): boolean => {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
    return false;
  }
};

const removeThat = (path: string, id: FileId): void => {
  if (isThat(statOf(path), id)) removeIfThere(path);
};

/** `at` leads to the step's directory. */
export const doStep = (step: Step, at: string): void => {
  const name = `${at}/${step.name}`;
  if (step.kind === "create") {
    moveToFree(`${at}/${step.temp}`, name);
  } else if (step.kind === "delete") {
    renameSync(name, `${at}/${step.backup}`);
  } else {
    keepAside(name, `${at}/${step.backup}`);
    renameSync(`${at}/${step.temp}`, name);
  }
};

const putBack = (name: string, backup: string, step: Step & { readonly old: FileId }): void => {
  const now = statOf(name);
  if (!isThat(statOf(backup), step.old)) return;
  if (now === undefined) moveToFree(backup, name);
  else if (step.kind === "replace" && isThat(now, step.made)) renameSync(backup, name);
  // Not replaced yet, or since then by somebody whose file is to stay.
  else unlinkSync(backup);
};

/**
 * Undoes a step that was done, half done or not begun. What somebody else has put there since, or changed, stays. It
 * touches nothing but the very files that the step names by inode, so a journal that somebody made up does nothing.
 */
export const undoStep = (step: Step, at: string): void => {
  const name = `${at}/${step.name}`;
  if (step.kind !== "delete") removeThat(`${at}/${step.temp}`, step.made);
  if (step.kind === "create") removeThat(name, step.made);
  else putBack(name, `${at}/${step.backup}`, step);
};

/** A step and a way into its directory. */
export interface Job {
  readonly step: Step;
  readonly at: string;
}

export const undoAll = (jobs: readonly Job[]): void => {
  for (const { step, at } of jobs.toReversed()) undoStep(step, at);
};

/** Performs all steps or none: if one fails, the earlier ones are undone. */
export const doAll = (jobs: readonly Job[]): void => {
  try {
    for (const { step, at } of jobs) doStep(step, at);
  } catch (error) {
    undoAll(jobs);
    throw error;
  }
};
