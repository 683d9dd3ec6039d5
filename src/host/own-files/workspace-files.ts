import { closeSync, constants, lstatSync, mkdirSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, relative, sep } from "node:path";
import { isMissing } from "../../base/system-error.ts";
import { ignoringExistence, makeFolders } from "./own-folder.ts";
import { readOwnFileSoon } from "./read-own-file.ts";
import { replaceFile } from "./replace-file.ts";

const MAX_BYTES = 64 * 1024 * 1024;

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK;
const APPEND =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK |
  constants.O_NOCTTY;

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

  return {
    /** The text, or undefined when there is no such file. */
    readText: async (path: string): Promise<string | undefined> => {
      try {
        return await within(path, false, async (at) =>
          (await readOwnFileSoon(at, { maxBytes: MAX_BYTES, noFollow: true })).toString(),
        );
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },

    /** Writes whole or not at all; creates missing folders. */
    writeText: (path: string, text: string, mode = 0o600): Promise<void> =>
      within(path, true, async (at) => {
        const found = lstatSync(at, { throwIfNoEntry: false });
        if (found !== undefined) refuseUnlessOwnFile(path, found);
        await replaceFile(at, text, mode);
      }),

    appendText: (path: string, text: string): Promise<void> =>
      within(path, true, async (at) => {
        const file = await open(at, APPEND, 0o600);
        try {
          refuseUnlessOwnFile(path, await file.stat());
          await file.appendFile(text);
        } finally {
          await file.close();
        }
      }),

    exists: async (path: string): Promise<boolean> => {
      try {
        return await within(
          path,
          false,
          async (at) => lstatSync(at, { throwIfNoEntry: false }) !== undefined,
        );
      } catch (error) {
        if (isMissing(error) && lstatSync(dirname(path), { throwIfNoEntry: false }) === undefined)
          return false;
        throw error;
      }
    },
  };
};
