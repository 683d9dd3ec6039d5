import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { gitDirOf } from "../../git/git-dir.ts";
import type { createTrackedFinder } from "./tracked.ts";

const stampOf = (path: string): string | undefined => {
  try {
    const { ino, size, ctimeNs } = lstatSync(path, { bigint: true });
    return `${ino} ${size} ${ctimeNs}`;
  } catch {
    return undefined;
  }
};

const hasOneName = (path: string): boolean => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.nlink === 1;
};

/**
 * Recognises what the user's own `git checkout` brings while a command runs. These repositories are read-only for the
 * command and for everything that runs beside it, so a new index is the user's work.
 */
export const noteIndexes = (
  entries: readonly string[],
  roots: readonly string[],
  findTracked: ReturnType<typeof createTrackedFinder>,
): ((files: readonly string[], unguarded: readonly string[]) => boolean) => {
  const dirs = entries.flatMap((entry) => gitDirOf(entry) ?? []);
  const before = new Map(dirs.map((dir) => [dir, stampOf(posix.join(dir, "index"))]));
  return (files, unguarded) => {
    const changed = [...before].filter(
      ([dir, stamp]) => !insideRoots(dir, unguarded) && stampOf(posix.join(dir, "index")) !== stamp,
    );
    if (changed.length === 0 || !files.every(hasOneName)) return false;
    const witnesses = new Set(changed.map(([dir]) => dir));
    return findTracked(files, roots, witnesses).unmodified.size === files.length;
  };
};
