import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, renameSync } from "node:fs";
import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockFile } from "../../own-files/file-lock.ts";
import { removeTree } from "./remove-tree.ts";

const PREFIX = "llmc-commands-";
/** Locked by the server whose folder it is in; the kernel gives the lock back however that ends. */
const LOCK = "lock";

/** A folder for the files of a server's sandboxes. */
export interface ServerFolder {
  readonly path: string;
  remove(): Promise<void>;
}

const isOwn = ({ uid }: { readonly uid: number }): boolean => uid === process.getuid?.();

/** The lock of a folder whose server has gone; one without a lock file is just being made, or another version's. */
const takeAbandoned = (folder: string): number | undefined => {
  let lock: number | undefined;
  try {
    const stats = lstatSync(folder);
    if (!stats.isDirectory() || !isOwn(stats)) return undefined;
    lock = openSync(join(folder, LOCK), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const isOurs = isOwn(fstatSync(lock)) && lockFile(lock, "exclusive") === "locked";
    if (isOurs) return lock;
  } catch {
    // It has gone by now, or is nothing of ours.
  }
  if (lock !== undefined) closeSync(lock);
  return undefined;
};

/**
 * Removes the folders that servers of the same user have left: one that was killed removed nothing of what its commands and
 * programs had written.
 */
export const removeAbandonedFolders = async (): Promise<void> => {
  for (const name of readdirSync(tmpdir()).filter((one) => one.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name);
    const lock = takeAbandoned(folder);
    if (lock === undefined) continue;
    // Whatever hinders it is there at the next start, too.
    await removeTree(folder, LOCK).catch(() => {});
    closeSync(lock);
  }
};

export const openServerFolder = async (): Promise<ServerFolder> => {
  const path = await realpath(await mkdtemp(join(tmpdir(), PREFIX)));
  const unlocked = join(path, `${LOCK}-new`);
  const lock = openSync(unlocked, "wx", 0o400);
  lockFile(lock, "exclusive");
  renameSync(unlocked, join(path, LOCK));
  const remove = async (): Promise<void> => {
    await removeTree(path, LOCK);
    closeSync(lock);
  };
  let removed: Promise<void> | undefined;
  return {
    path,
    remove: () => {
      removed ??= remove();
      return removed;
    },
  };
};
