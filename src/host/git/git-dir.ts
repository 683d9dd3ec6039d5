import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { exists, readText, realOf, refusedRepository } from "./files.ts";

export const MAX_POINTER_BYTES = 4096;

/** Only line ends are cut off, as git does it: a space at the end is part of the name. */
const withoutLineEnd = (text: string): string => text.replace(/[\r\n]+$/, "");

/** What a `.git` file points to. */
export const gitPointer = (path: string): string | undefined => {
  const text = readText(path, MAX_POINTER_BYTES);
  return text?.startsWith("gitdir: ") === true ? withoutLineEnd(text.slice("gitdir: ".length)) : undefined;
};

/** The git directory that a `.git` entry stands for; undefined where it is neither a folder nor points to one. */
export const gitDirOf = (entry: string): string | undefined => {
  const real = realOf(entry);
  if (real === undefined) return undefined;
  if (lstatSync(real).isDirectory()) return real;
  const pointer = gitPointer(real);
  return pointer === undefined ? undefined : realOf(posix.resolve(posix.dirname(entry), pointer));
};

export const commonDirOf = (gitDir: string): string => {
  if (!exists(posix.join(gitDir, "commondir"))) return gitDir;
  const text = readText(posix.join(gitDir, "commondir"), MAX_POINTER_BYTES);
  const pointer = text === undefined ? undefined : withoutLineEnd(text);
  const common = pointer === undefined ? undefined : realOf(posix.resolve(gitDir, pointer));
  if (common === undefined) throw refusedRepository("its commondir leads to nothing");
  return common;
};
