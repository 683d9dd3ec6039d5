import { watch } from "node:fs";
import { mkdir, open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { readOwnFileSoon } from "../own-files/read-own-file.ts";

/**
 * The operator's own files (configuration, a client's settings), reached by the program for itself. They may be links,
 * as dotfiles often are. Nothing that a caller names ever comes here: callers' paths go through the `Files` port, which
 * asks policy; and what the server itself writes into a workspace goes through `WorkspaceFiles`.
 */
export interface Disk {
  /** The text, or undefined when there is no such file. What is no regular file, below a file, or over 1 MiB, is an error. */
  readText(path: string): Promise<string | undefined>;
  /** Writes whole or not at all; creates missing folders. */
  writeText(path: string, text: string, mode?: number): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Where a path really leads and its permission bits, or undefined when there is no such file. */
  resolveFile(path: string): Promise<{ readonly path: string; readonly mode: number } | undefined>;
  /** Calls back after the file was changed, replaced or removed; returns the stop function. */
  watch(path: string, changed: () => void): () => void;
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** Nothing lies there, whatever keeps it from being there. */
const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";

/**
 * A file in the place of a folder is somebody's mistake, and settings that they believe in force are not: to read there is
 * an error. Below a device there is nothing on purpose, as with `HOME=/dev/null`.
 */
const isMistaken = async (error: unknown, path: string): Promise<boolean> => {
  if (codeOf(error) !== "ENOTDIR") return false;
  for (let above = dirname(path); above !== dirname(above); above = dirname(above)) {
    const stats = await stat(above).catch(() => undefined);
    if (stats !== undefined) return stats.isFile();
  }
  return false;
};

/** Nobody writes a larger configuration by hand. */
const MAX_TEXT_BYTES = 1024 * 1024;

/** Kubernetes swaps this link beside the file instead of touching the file. */
const CONFIG_MAP_LINK = "..data";

export const createDisk = (): Disk => ({
  readText: async (path) => {
    try {
      return (await readOwnFileSoon(path, { maxBytes: MAX_TEXT_BYTES })).toString();
    } catch (error) {
      if (isMissing(error) && !(await isMistaken(error, path))) return undefined;
      throw error;
    }
  },

  writeText: async (path, text, mode = 0o644) => {
    await mkdir(dirname(path), { recursive: true });
    // Loaded here, because a server's start reads this disk and writes nothing.
    const { randomBytes } = await import("node:crypto");
    const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(8).toString("hex")}`);
    const file = await open(temporary, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    try {
      await rename(temporary, path);
    } catch (error) {
      await unlink(temporary);
      throw error;
    }
  },

  exists: async (path) => {
    try {
      await stat(path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  },

  resolveFile: async (path) => {
    try {
      const real = await realpath(path);
      return { path: real, mode: (await stat(real)).mode & 0o777 };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  },

  watch: (path, changed) => {
    // The folder is watched, not the file: editors replace a file, which ends a watch on the old one.
    const name = basename(path);
    let timer: NodeJS.Timeout | undefined;
    const watcher = watch(dirname(path), { persistent: false }, (_event, changedName) => {
      if (changedName !== null && changedName !== name && changedName !== CONFIG_MAP_LINK) return;
      clearTimeout(timer);
      // Editors write in several steps; 50 ms later the file is whole.
      timer = setTimeout(changed, 50);
      timer.unref();
    });
    watcher.on("error", () => watcher.close());
    return () => {
      clearTimeout(timer);
      watcher.close();
    };
  },
});
