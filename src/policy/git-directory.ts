import { posix } from "node:path";

/**
 * What a directory holds under a name, as far as git cares; links count as what they are. Undefined where there is certainly
 * nothing; what is closed to us may be anything.
 */
export type EntryKind = (path: string) => "file" | "directory" | "link" | "other" | "closed" | undefined;

/** What git itself takes for `.git` on any disk: other letters, and the short name of old Windows disks. */
export const GIT_NAME = /^(?:\.git|git~\d+)$/i;

/** On some disk. */
export const isHeadName = (name: string): boolean => name.length === 4 && name.toLowerCase() === "head";

/** With a valid HEAD, one of these makes a directory git's own (is_git_directory in git's setup.c). */
export const BESIDE_HEAD: readonly string[] = ["objects", "refs", "commondir"];

const hasHead = (dir: string, entryKind: EntryKind): boolean => {
  const head = entryKind(posix.join(dir, "HEAD"));
  return head === "file" || head === "link" || head === "closed";
};

/**
 * Whether git would take this directory for one of its own, whatever it is called. A `.git` in it does not excuse it:
 * git goes on to the directory itself where that `.git` is not valid.
 */
export const looksLikeGitDirectory = (dir: string, entryKind: EntryKind): boolean =>
  hasHead(dir, entryKind) && BESIDE_HEAD.some((name) => entryKind(posix.join(dir, name)) !== undefined);

/** A git directory may keep all but its HEAD elsewhere, in a directory that has these two. */
const OF_COMMON_DIRECTORY: readonly string[] = ["objects", "refs"];

const isCommonDirectory = (dir: string, entryKind: EntryKind): boolean =>
  OF_COMMON_DIRECTORY.every((name) => entryKind(posix.join(dir, name)) !== undefined);

/** Whether an entry of this name would complete such a directory. */
const completesCommonDirectory = (folder: string, name: string, entryKind: EntryKind): boolean =>
  OF_COMMON_DIRECTORY.includes(name.toLowerCase()) &&
  OF_COMMON_DIRECTORY.some(
    (other) => other !== name.toLowerCase() && entryKind(posix.join(folder, other)) !== undefined,
  );

/**
 * Whether a path is in a git directory, or would make its folder one. A file called HEAD is what every git directory
 * needs, so nobody but git makes one: then no sequence of writes, however interleaved, ends in a new repository.
 */
export const isInGitDirectory = (path: string, entryKind: EntryKind): boolean => {
  const name = posix.basename(path);
  if (path.split("/").some((part) => GIT_NAME.test(part))) return true;
  if (isHeadName(name) && entryKind(path) !== "directory") return true;
  const folder = posix.dirname(path);
  if (BESIDE_HEAD.some((beside) => beside === name.toLowerCase()) && hasHead(folder, entryKind)) return true;
  if (completesCommonDirectory(folder, name, entryKind)) return true;
  for (let dir = folder; dir !== "/"; dir = posix.dirname(dir))
    if (looksLikeGitDirectory(dir, entryKind) || isCommonDirectory(dir, entryKind)) return true;
  return false;
};
