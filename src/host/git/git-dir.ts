import { posix } from "node:path";
import { refusedRepository } from "./files.ts";
import { joinPath, pathFrom, resolveTarget } from "./follow-path.ts";
import {
  MISSING,
  type Missing,
  obeyedEntry,
  obeyedRealPath,
  readObeyedText,
  unreadable,
} from "./obeyed-files.ts";

/** As much as git itself reads of a `.git` file. */
export const MAX_POINTER_BYTES = 1024 * 1024;

/** The path in a file that git reads as one. Only line ends are cut off: a space at the end is part of the name. */
const readPath = (path: string): string | Missing => {
  const text = readObeyedText(path, MAX_POINTER_BYTES);
  if (text === MISSING) return MISSING;
  // Git's own text ends there.
  if (text.includes("\0")) throw unreadable(path, "it holds a zero byte");
  return text.replace(/[\r\n]+$/, "");
};

/** What a `.git` file points to; undefined if there is certainly none that points anywhere. */
export const gitPointer = (path: string): string | undefined => {
  const text = readPath(path);
  return text !== MISSING && text.startsWith("gitdir: ") ? text.slice("gitdir: ".length) : undefined;
};

/** The real path of something that exists. Throws where it is another for every process, as below `/proc`. */
const existing = (path: string): string | Missing => obeyedRealPath(resolveTarget(path));

/** The git directory that a `.git` entry stands for; undefined if it certainly stands for none. */
export const gitDirOf = (entry: string): string | undefined => {
  const real = existing(entry);
  const found = real === MISSING ? MISSING : obeyedEntry(real);
  if (real === MISSING || found === MISSING) return undefined;
  if (found.isDirectory()) return real;
  const pointer = gitPointer(real);
  const dir = pointer === undefined ? MISSING : existing(pathFrom(posix.dirname(entry), pointer));
  return dir === MISSING ? undefined : dir;
};

/** The same for what is only told to somebody: undefined also where it cannot be known. */
export const knownGitDirOf = (entry: string): string | undefined => {
  try {
    return gitDirOf(entry);
  } catch {
    return undefined;
  }
};

/** The `.git` file that a folder in `worktrees` names, as git takes it, whether it exists or not. */
export const linkedNameOf = (folder: string): string | undefined => {
  const name = readPath(posix.join(folder, "gitdir"));
  return name === MISSING || name === "" ? undefined : joinPath(folder, name);
};

/** The common directory as git asks for it, whether it exists or not; undefined if there is certainly none. */
export const commonNameOf = (gitDir: string): string | undefined => {
  const name = readPath(posix.join(gitDir, "commondir"));
  return name === MISSING ? undefined : pathFrom(gitDir, name);
};

export const commonDirOf = (gitDir: string): string => {
  const name = commonNameOf(gitDir);
  const common = name === undefined ? gitDir : existing(name);
  if (common === MISSING) throw refusedRepository("its commondir leads to nothing");
  return common;
};
