import { lstatSync, realpathSync } from "node:fs";
import { posix } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { exists, readText, realOf, refusedRepository } from "./files.ts";
import { pathFrom, resolveTarget } from "./follow-path.ts";

/** As much as git itself reads of a `.git` file. */
export const MAX_POINTER_BYTES = 1024 * 1024;

/** Only line ends are cut off, as git does it: a space at the end is part of the name. */
const withoutLineEnd = (text: string): string => text.replace(/[\r\n]+$/, "");

/** What a `.git` file points to. */
export const gitPointer = (path: string): string | undefined => {
  const text = readText(path, MAX_POINTER_BYTES);
  return text?.startsWith("gitdir: ") === true ? withoutLineEnd(text.slice("gitdir: ".length)) : undefined;
};

/** The real path of something that exists. Throws where it is another for every process, as below `/proc`. */
const existing = (path: string): string | undefined => realOf(resolveTarget(path));

/** The git directory that a `.git` entry stands for; undefined where it is neither a folder nor points to one. */
export const gitDirOf = (entry: string): string | undefined => {
  const real = existing(entry);
  if (real === undefined) return undefined;
  if (lstatSync(real).isDirectory()) return real;
  const pointer = gitPointer(real);
  return pointer === undefined ? undefined : existing(pathFrom(posix.dirname(entry), pointer));
};

const isNothing = (path: string): boolean => {
  try {
    realpathSync.native(path);
    return false;
  } catch (error) {
    return isMissing(error);
  }
};

/**
 * Whether a `.git` entry certainly stands for no git directory: it is gone, or a small text that is no pointer, or a
 * pointer to nothing. Of any other that we cannot follow, git may know more than we do.
 */
export const isNoGitDirectory = (entry: string): boolean => {
  if (!entry.isWellFormed()) return false;
  if (isNothing(entry)) return true;
  const text = readText(entry, MAX_POINTER_BYTES);
  if (text === undefined || text.includes("\0")) return false;
  const pointer = gitPointer(entry);
  return pointer === undefined || isNothing(pathFrom(posix.dirname(entry), pointer));
};

/** The common directory as git asks for it, whether it exists or not; "unknown" if git may read more than we can. */
export const commonNameOf = (gitDir: string): string | "unknown" | undefined => {
  if (!exists(posix.join(gitDir, "commondir"))) return undefined;
  const text = readText(posix.join(gitDir, "commondir"), MAX_POINTER_BYTES);
  return text === undefined || text.includes("\0") ? "unknown" : pathFrom(gitDir, withoutLineEnd(text));
};

export const commonDirOf = (gitDir: string): string => {
  const name = commonNameOf(gitDir);
  if (name === undefined) return gitDir;
  const common = name === "unknown" ? undefined : existing(name);
  if (common === undefined) throw refusedRepository("its commondir leads to nothing");
  return common;
};
