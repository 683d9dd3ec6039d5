import { closeSync, constants, lstatSync, mkdirSync, openSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { basename, dirname, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemErrorCode } from "../../base/system-error.ts";
import type { LockOutcome } from "./file-lock.ts";
import { ignoringExistence, makeFolders } from "./own-folder.ts";
import { readOwnFileSoon } from "./read-own-file.ts";
import { replaceFile } from "./replace-file.ts";

const MAX_BYTES = 64 * 1024 * 1024;

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK;
const APPEND =
  constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

const MAX_WAIT_MS = 2000;
const POLL_MS = 5;
const MAX_TRIES = 100;

interface Held {
  readonly fd: number;
  readonly at: string;
}

const hold = (path: string, flags: number): Held => {
  const fd = openSync(path, flags);
  const through = `/proc/self/fd/${fd}`;
  return { fd, at: lstatSync(through, { throwIfNoEntry: false }) === undefined ? path : through };
};

const notOwnFile = (path: string): Error =>
  Object.assign(new Error(`${basename(path)} is not a regular file of its own`), { code: "ENOTREG" });

interface FileStats {
  isFile(): boolean;
  readonly nlink: number;
}

/** A second name would let a write change a file elsewhere. */
const refuseUnlessOwnFile = (path: string, stats: FileStats): void => {
  if (!stats.isFile() || stats.nlink !== 1) throw notOwnFile(path);
};

const isStillAt = async (file: FileHandle, at: string): Promise<boolean> => {
  const [opened, named] = await Promise.all([file.stat(), stat(at).catch(() => undefined)]);
  return named !== undefined && opened.ino === named.ino && opened.dev === named.dev;
};

/** Steps down from the workspace; a path outside is the operator's, who may have made links there. */
const openFolder = (workspace: string, path: string, makeMissing: boolean): Held => {
  const folder = dirname(path);
  const below = relative(workspace, folder);
  if (below === ".." || below.startsWith(`..${sep}`)) {
    if (makeMissing) makeFolders(folder);
    return hold(folder, FOLDER);
  }
  let held = hold(workspace, FOLDER | constants.O_NOFOLLOW);
  for (const name of below.split(sep).filter((part) => part !== "")) {
    const next = `${held.at}/${name}`;
    try {
      if (makeMissing) ignoringExistence(() => mkdirSync(next));
      const inner = hold(next, FOLDER | constants.O_NOFOLLOW);
      closeSync(held.fd);
      held = inner;
    } catch (error) {
      closeSync(held.fd);
      throw error;
    }
  }
  return held;
};

const withinFolder = async <T>(
  workspace: string,
  path: string,
  makeMissing: boolean,
  work: (at: string) => Promise<T>,
): Promise<T> => {
  const folder = openFolder(workspace, path, makeMissing);
  try {
    return await work(`${folder.at}/${basename(path)}`);
  } finally {
    closeSync(folder.fd);
  }
};

/**
 * Files that the server writes for itself where commands and other programs can write too, such as the token audit.
 * Every folder on the way is opened by name in the one before it and held, so that none can be swapped for a link that
 * leads elsewhere; what is written must be a regular file with one name.
 */
export type WorkspaceFiles = ReturnType<typeof createWorkspaceFiles>;

export const createWorkspaceFiles = (workspace: string) => {
  const within = <T>(path: string, makeMissing: boolean, work: (at: string) => Promise<T>): Promise<T> =>
    withinFolder(workspace, path, makeMissing, work);

  // Who holds a lock for longer than this is no server: commands can lock the file, too, and are not waited for again.
  let patienceMs = MAX_WAIT_MS;

  const lock = async (file: FileHandle): Promise<LockOutcome> => {
    // Loads the library of system calls, which a start need not wait for.
    const { lockFile } = await import("./file-lock.ts");
    const deadline = performance.now() + patienceMs;
    let outcome = lockFile(file.fd, "exclusive");
    while (outcome === "held" && performance.now() < deadline) {
      await sleep(POLL_MS);
      outcome = lockFile(file.fd, "exclusive");
    }
    patienceMs = outcome === "held" ? 0 : MAX_WAIT_MS;
    return outcome;
  };

  /** The file under its lock; opened again where another server has replaced it meanwhile. */
  const withLocked = async (
    path: string,
    at: string,
    flags: number,
    work: (file: FileHandle, outcome: LockOutcome) => Promise<boolean>,
  ): Promise<void> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const file = await open(at, flags, 0o600);
      try {
        refuseUnlessOwnFile(path, await file.stat());
        const outcome = await lock(file);
        if ((await isStillAt(file, at)) && (await work(file, outcome))) return;
      } finally {
        await file.close();
      }
    }
    throw Object.assign(new Error(`${basename(path)} is replaced again and again`), { code: "EBUSY" });
  };

  return {
    /** Adds to the file, and `header` first where it is empty; creates missing folders. */
    appendText: (path: string, text: string, header = ""): Promise<void> =>
      within(path, true, (at) =>
        withLocked(path, at, APPEND | constants.O_CREAT, async (file) => {
          await file.appendFile((await file.stat()).size === 0 ? header + text : text);
          return true;
        }),
      ),

    /**
     * Replaces the text, whole or not at all, without losing what another server adds meanwhile. Does nothing where there
     * is no such file, where nothing changes, and where nobody can be kept out: the disk has no locks, or somebody holds it.
     */
    rewrite: async (path: string, change: (text: string) => string): Promise<void> => {
      try {
        await within(path, false, (at) =>
          withLocked(path, at, APPEND, async (file, outcome) => {
            if (outcome !== "locked") return true;
            const read = await readOwnFileSoon(at, { maxBytes: MAX_BYTES, noFollow: true });
            const text = read.toString();
            const changed = change(text);
            if (changed === text) return true;
            // Whoever tired of waiting for the lock has added something: that is read, too.
            const isWhole = async () => (await file.stat()).size === read.length;
            return replaceFile(at, changed, 0o600, isWhole);
          }),
        );
      } catch (error) {
        if (systemErrorCode(error) !== "ENOENT") throw error;
      }
    },
  };
};
