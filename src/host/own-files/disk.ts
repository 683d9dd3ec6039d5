import { realpath, rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isMissing, systemErrorCode } from "../../base/system-error.ts";
import { readOwnFileSoon } from "../own-files/read-own-file.ts";
import { identityOf } from "./file-identity.ts";
import { makeFolders } from "./own-folder.ts";
import { realOrFuture } from "./real-or-future.ts";
import { replaceFile } from "./replace-file.ts";
import { watchFiles } from "./watch-files.ts";

/**
 * A file where a folder should be is a mistake: settings that somebody believes to be in force are not, so reading there
 * is an error. Below a device, as with `HOME=/dev/null`, nothing is expected to exist.
 */
const isMistaken = async (error: unknown, path: string): Promise<boolean> => {
  if (systemErrorCode(error) !== "ENOTDIR") return false;
  for (let above = dirname(path); above !== dirname(above); above = dirname(above)) {
    const stats = await stat(above).catch(() => undefined);
    if (stats !== undefined) return stats.isFile();
  }
  return false;
};

/** Nobody writes a larger configuration by hand. */
const MAX_TEXT_BYTES = 1024 * 1024;

/**
 * The operator's own files (configuration, a client's settings), reached by the program for itself. They may be links,
 * as dotfiles often are. Nothing that a caller names ever comes here: callers' paths go through the `Files` port, which
 * asks policy; and what the server itself writes into a workspace goes through `WorkspaceFiles`.
 */
export type Disk = ReturnType<typeof createDisk>;

export const createDisk = () => ({
  /**
   * The text, or undefined when there is no such file. It is an error if the path is not a regular file, is below a
   * file, or is larger than 1 MiB.
   */
  readText: async (path: string): Promise<string | undefined> => {
    try {
      return (await readOwnFileSoon(path, { maxBytes: MAX_TEXT_BYTES })).toString();
    } catch (error) {
      if (isMissing(error) && !(await isMistaken(error, path))) return undefined;
      throw error;
    }
  },

  /** What tells the state of a file from an earlier or later one. */
  identityOf,

  /** Writes whole or not at all; creates missing folders. */
  writeText: async (path: string, text: string, mode = 0o644): Promise<void> => {
    makeFolders(dirname(path));
    await replaceFile(path, text, mode);
  },

  exists: async (path: string): Promise<boolean> => {
    try {
      await stat(path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  },

  /** Removes a file, or a link to one; none there is as good. */
  removeFile: (path: string): Promise<void> => rm(path, { force: true }),

  /** Removes folders that are empty, from this one upwards; `end` and what is above it stay. */
  removeEmptyFolders: async (path: string, end: string): Promise<void> => {
    for (let folder = path; folder !== end && folder.startsWith(`${end}/`); folder = dirname(folder)) {
      try {
        await rmdir(folder);
      } catch {
        // Something else is in it, or it is a link.
        return;
      }
    }
  },

  /** Where a path really leads and its permission bits, or undefined when there is no such file. */
  resolveFile: async (
    path: string,
  ): Promise<{ readonly path: string; readonly mode: number } | undefined> => {
    try {
      const real = await realpath(path);
      return { path: real, mode: (await stat(real)).mode & 0o777 };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  },

  /** The real path, or the one that it will have once it is created. */
  realOrFuture,

  /** Calls back after the file was changed, replaced or removed; returns the stop function. */
  watch: (path: string, changed: () => void): (() => void) => watchFiles(() => [path], changed),
});
