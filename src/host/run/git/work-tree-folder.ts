import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { exists, readText, realOf } from "../../git/files.ts";
import { joinPath, resolveTarget } from "../../git/follow-path.ts";
import { gitPointer, MAX_POINTER_BYTES } from "../../git/git-dir.ts";

/** The `.git` file that a folder in `worktrees` names, as git takes it, whether it exists or not. */
const namedBy = (folder: string): string | undefined => {
  const entry = readText(posix.join(folder, "gitdir"), MAX_POINTER_BYTES)?.replace(/\n$/, "");
  return entry === undefined || entry === "" ? undefined : joinPath(folder, entry);
};

/** The `.git` file that a folder in `worktrees` names and that points back to it, by its real path. */
export const linkedEntryOf = (folder: string): string | undefined => {
  const entry = namedBy(folder);
  const path = entry === undefined ? undefined : realOf(entry);
  if (path === undefined || posix.basename(path) !== ".git" || !lstatSync(path).isFile()) return undefined;
  const pointer = gitPointer(path);
  const back = pointer === undefined ? undefined : realOf(joinPath(posix.dirname(path), pointer));
  return back !== undefined && back === realOf(folder) ? path : undefined;
};

/**
 * The `.git` file that a folder in `worktrees` belongs to, by its real path. Undefined unless the folder is as
 * `git worktree add` makes it: it shares this repository's own settings, brings none of its own, and belongs to a work
 * tree that points back to it.
 */
export const workTreeOf = (folder: string): string | undefined => {
  if (exists(posix.join(folder, "config.worktree"))) return undefined;
  if (readText(posix.join(folder, "commondir"), MAX_POINTER_BYTES) !== "../..\n") return undefined;
  return linkedEntryOf(folder);
};

/** Whether the work tree of a folder in `worktrees` lies in the roots, or would if it were there. */
export const isWorkTreeIn = (folder: string, roots: readonly string[]): boolean => {
  try {
    const entry = namedBy(folder);
    return entry !== undefined && insideRoots(resolveTarget(entry), roots);
  } catch {
    return false;
  }
};
