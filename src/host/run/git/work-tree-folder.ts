import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { exists, readText, realOf } from "../../git/files.ts";
import { gitPointer, MAX_POINTER_BYTES } from "../../git/git-dir.ts";

/**
 * The `.git` file that a folder in `worktrees` belongs to, by its real path. Undefined unless the folder is as
 * `git worktree add` makes it: it shares this repository's own settings, brings none of its own, and belongs to a work
 * tree that points back to it.
 */
export const workTreeOf = (folder: string): string | undefined => {
  if (exists(posix.join(folder, "config.worktree"))) return undefined;
  if (readText(posix.join(folder, "commondir"), MAX_POINTER_BYTES) !== "../..\n") return undefined;
  const entry = readText(posix.join(folder, "gitdir"), MAX_POINTER_BYTES)?.replace(/\n$/, "");
  const path = entry === undefined ? undefined : realOf(posix.resolve(folder, entry));
  if (path === undefined || posix.basename(path) !== ".git" || !lstatSync(path).isFile()) return undefined;
  const pointer = gitPointer(path);
  const back = pointer === undefined ? undefined : realOf(posix.resolve(posix.dirname(path), pointer));
  return back !== undefined && back === realOf(folder) ? path : undefined;
};
