import { lstatSync } from "node:fs";
import { isMissing } from "../../base/system-error.ts";
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
