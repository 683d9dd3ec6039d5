import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** Longer names do not fit into the address of a socket. */
const MAX_SOCKET_PATH = 100;

const isPrivateFolder = (folder: string): boolean => {
  try {
    const stats = statSync(folder);
    return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
  } catch {
    return false;
  }
};

/** A new folder that only this user can enter, in the user's own folder for such things where there is one. */
export const makeSocketFolder = (runtimeFolder: string | undefined): string => {
  const parent =
    runtimeFolder !== undefined &&
    isPrivateFolder(runtimeFolder) &&
    runtimeFolder.length + 30 < MAX_SOCKET_PATH
      ? runtimeFolder
      : "/tmp";
  const folder = mkdtempSync(join(parent, "llmc-"));
  chmodSync(folder, 0o700);
  return folder;
};

export const removeSocketFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true });
