import { constants } from "node:fs";
import { chmod, mkdir, open, readdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemErrorCode } from "../../base/system-error.ts";
import { createDisk } from "../own-files/disk.ts";
import { makeFolders } from "../own-files/own-folder.ts";

/** A record names keys and values of one file; a megabyte is far beyond any of them. */
const MAX_RECORD_BYTES = 1_048_576;

/** Records of trust in the user's state folder. What is not a small regular file of this user is not believed. */
export const createTrustFiles = () => ({
  readRecord: async (path: string): Promise<string | undefined> => {
    // Never blocks on a pipe, never follows a link.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = await open(path, flags).catch((error: unknown) => {
      if (systemErrorCode(error) === "ENOENT") return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      const stats = await file.stat();
      const isOurs = stats.uid === (process.getuid?.() ?? stats.uid) && (stats.mode & 0o022) === 0;
      if (!stats.isFile() || !isOurs || stats.size > MAX_RECORD_BYTES) {
        throw new Error("not a small regular file that only this user can write");
      }
      const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  },

  /** Makes the folder for the owner alone, so that it can be watched and written. */
  makeFolder: async (folder: string): Promise<void> => {
    makeFolders(dirname(folder), 0o700);
    await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      if (systemErrorCode(error) !== "EEXIST") throw error;
    });
    await chmod(folder, 0o700);
  },

  writeRecord: (path: string, text: string): Promise<void> => createDisk().writeText(path, text, 0o600),

  /** Whether there was one. */
  removeRecord: async (path: string): Promise<boolean> => {
    try {
      await unlink(path);
      return true;
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return false;
      throw error;
    }
  },

  listRecords: async (folder: string): Promise<readonly string[]> => {
    try {
      const names = await readdir(folder);
      return names.filter((name) => /^[0-9a-f]{64}\.json$/.test(name)).map((name) => join(folder, name));
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return [];
      throw error;
    }
  },
});
