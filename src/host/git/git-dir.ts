import { lstatSync, realpathSync } from "node:fs";
import { posix } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { exists, readText, realOf, refusedRepository } from "./files.ts";

export const MAX_POINTER_BYTES = 4096;

/** Only line ends are cut off, as git does it: a space at the end is part of the name. */
const withoutLineEnd = (text: string): string => text.replace(/[\r\n]+$/, "");

/** What a `.git` file points to. */
export const gitPointer = (path: string): string | undefined => {
  const text = readText(path, MAX_POINTER_BYTES);
  return text?.startsWith("gitdir: ") === true ? withoutLineEnd(text.slice("gitdir: ".length)) : undefined;
};

/** Relative to a folder as the kernel sees it: after a link, `..` is where the link leads. */
const from = (folder: string, pointer: string): string =>
  posix.isAbsolute(pointer) ? pointer : `${folder}/${pointer}`;

/** The git directory that a `.git` entry stands for; undefined where it is neither a folder nor points to one. */
export const gitDirOf = (entry: string): string | undefined => {
  const real = realOf(entry);
  if (real === undefined) return undefined;
  if (lstatSync(real).isDirectory()) return real;
  const pointer = gitPointer(real);
  return pointer === undefined ? undefined : realOf(from(posix.dirname(entry), pointer));
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
  return pointer === undefined || isNothing(from(posix.dirname(entry), pointer));
};

export const commonDirOf = (gitDir: string): string => {
  if (!exists(posix.join(gitDir, "commondir"))) return gitDir;
  const text = readText(posix.join(gitDir, "commondir"), MAX_POINTER_BYTES);
  const pointer = text === undefined ? undefined : withoutLineEnd(text);
  const common = pointer === undefined ? undefined : realOf(from(gitDir, pointer));
  if (common === undefined) throw refusedRepository("its commondir leads to nothing");
  return common;
};
