import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { joinPath, resolveTarget } from "../../git/follow-path.ts";
import { gitPointer, linkedNameOf, MAX_POINTER_BYTES } from "../../git/git-dir.ts";
import { isThere, MISSING, obeyedEntry, obeyedRealPath, readObeyedText } from "../../git/obeyed-files.ts";

/** The `.git` file that a folder in `worktrees` names and that points back to it, by its real path. */
export const linkedEntryOf = (folder: string): string | undefined => {
  const entry = linkedNameOf(folder);
  const path = entry === undefined ? MISSING : obeyedRealPath(entry);
  if (path === MISSING || posix.basename(path) !== ".git") return undefined;
  const found = obeyedEntry(path);
  const pointer = found !== MISSING && found.isFile() ? gitPointer(path) : undefined;
  const back = pointer === undefined ? MISSING : obeyedRealPath(joinPath(posix.dirname(path), pointer));
  return back !== MISSING && back === obeyedRealPath(folder) ? path : undefined;
};

/**
 * The `.git` file that a folder in `worktrees` belongs to, by its real path. Undefined unless the folder is as
 * `git worktree add` makes it: it shares this repository's own settings, brings none of its own, and belongs to a work
 * tree that points back to it.
 */
export const workTreeOf = (folder: string): string | undefined => {
  if (isThere(posix.join(folder, "config.worktree"))) return undefined;
  if (readObeyedText(posix.join(folder, "commondir"), MAX_POINTER_BYTES) !== "../..\n") return undefined;
  return linkedEntryOf(folder);
};

/** Whether the work tree of a folder in `worktrees` lies in the roots, or would if it were there. */
export const isWorkTreeIn = (folder: string, roots: readonly string[]): boolean => {
  try {
    const entry = linkedNameOf(folder);
    return entry !== undefined && insideRoots(resolveTarget(entry), roots);
  } catch {
    return false;
  }
};
