import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, statSync } from "node:fs";
import { ignoringExistence, type OwnFolder } from "../../own-files/own-folder.ts";

// The work takes about a millisecond: whoever holds the lock for longer than this was killed.
const STALE_MS = 2000;
const PAUSE_MS = 5;
const MAX_WAIT_MS = 5000;

/** Blocks the whole thread. */
export const blockFor = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

const ageMs = (path: string): number => {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? 0 : Date.now() - stats.mtimeMs;
};

const isForeign = (path: string): boolean => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false;
  return !stats.isDirectory() || stats.mtimeMs > Date.now() + STALE_MS || readdirSync(path).length > 0;
};

const removeDirectory = (path: string): void => {
  try {
    rmdirSync(path);
  } catch {
    // Another process was faster.
  }
};

/**
 * One process at a time moves databases aside: otherwise two processes that find the same damage would move each
 * other's new file. SQLite's own locks do not help, since they belong to the file that is moved.
 */
export const withFolderLock = <T>(folder: OwnFolder, work: () => T): T => {
  const path = `${folder.at}/aside.lock`;
  const deadline = performance.now() + MAX_WAIT_MS;
  while (!ignoringExistence(() => mkdirSync(path, { mode: 0o700 }))) {
    // Anything but a recently created empty folder is not a lock; it may have come with the workspace.
    if (isForeign(path) || performance.now() > deadline)
      renameSync(path, `${path}.refused-${randomBytes(4).toString("hex")}`);
    else if (ageMs(path) > STALE_MS) removeDirectory(path);
    else blockFor(PAUSE_MS);
  }
  try {
    return work();
  } finally {
    removeDirectory(path);
  }
};
