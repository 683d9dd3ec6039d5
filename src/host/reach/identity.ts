import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { insideRoots } from "../../policy/paths.ts";
import { systemPath } from "./byte-path.ts";

/**
 * Names the very file or folder that is at a path, also after it was moved, unless it is a link; undefined where nothing
 * is there.
 */
export const identify = (path: string): string | undefined => {
  try {
    const stats = lstatSync(systemPath(path));
    const file = `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`;
    // No mount can hold a link where it is; moving it changes this time.
    return stats.isSymbolicLink() ? `${file}:${stats.ctimeMs}` : file;
  } catch (thrown) {
    // What cannot be accessed is there, and its identity is unknown.
    return isMissing(thrown) ? undefined : path;
  }
};

/** Says of a path which very folders lead to it, from its root on. Each is asked for once. */
export const createLocations = (roots: readonly string[]): ((path: string) => string) => {
  const known = new Map<string, string>();
  const locationOf = (folder: string): string => {
    const before = known.get(folder);
    if (before !== undefined) return before;
    const above = insideRoots(dirname(folder), roots) && folder !== "/" ? locationOf(dirname(folder)) : "";
    const location = `${above}/${identify(folder)}`;
    known.set(folder, location);
    return location;
  };
  return (path) => locationOf(dirname(path));
};
