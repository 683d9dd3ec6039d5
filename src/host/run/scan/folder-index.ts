import { type Dirent, lstatSync, type Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { posix } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { nameOf, pathBytes, systemPath } from "../../reach/byte-path.ts";

export type Entry = Pick<Dirent, "name" | "isFile" | "isDirectory" | "isSymbolicLink">;

/** What is remembered of a folder, so that it is read again only when its entries have changed. */
interface Folder<T> {
  readonly inode: number;
  readonly changedAt: number;
  /** It changed so shortly before it was read that a later change may bear the same time. */
  readonly isFresh: boolean;
  readonly found: readonly T[];
}

interface FolderIndexOptions<T> {
  /** Real paths. */
  readonly roots: readonly string[];
  /** What a folder itself is, by its entries. */
  readonly classifyFolder: (path: string, entries: readonly Entry[]) => T | undefined;
  /** What an entry is, and whether a folder is entered. */
  readonly classify: (
    path: string,
    entry: Entry,
  ) => { readonly found: readonly T[]; readonly enter: boolean };
  /** A folder that cannot be listed. */
  readonly closed: (path: string) => T;
  /** A folder whose path is too long to be asked for. */
  readonly unknown: (path: string) => T;
  /** Folders that are not entered. */
  readonly skips: (path: string) => boolean;
  /** How many are kept in mind. */
  readonly maxFolders?: number;
}

export interface FolderIndex<T> {
  /** Reads every folder that is new or has changed; the first time, that is all of them. */
  update(): Promise<void>;
  /** The same for those that so many milliseconds suffice to look at, the shallowest first; whether they were all. */
  updateWithin(maxMs: number): Promise<boolean>;
  /** The same list as long as nothing was read anew. */
  found(): readonly T[];
  /** False where there are more folders than are kept in mind: those beyond were looked at once, if at all. */
  isWhole(): boolean;
}

/** The kernel's clock of files moves in steps of up to 10 ms. */
const FRESH_MS = 50;
const READERS = 16;
/** Looks between two turns of the event loop. */
const LOOKS_AT_ONCE = 500;
/** Looks between two looks at the clock. */
const LOOKS_PER_GLANCE = 32;
/** About 200 bytes each. The shallowest are known; of those beyond so many, the ones in which something was found. */
const MAX_FOLDERS = 200_000;
/** Where so many are left, there is room for those that were beyond: everything is looked at anew. */
const ROOM_AGAIN = 0.9;
/** Below what the system takes for a path (4,096), with room for a name in it. */
const MAX_PATH_BYTES = 3800;
const NOTHING: readonly never[] = [];

const hasChanged = (path: string, { inode, changedAt, isFresh }: Folder<unknown>): boolean => {
  if (isFresh) return true;
  let now: Stats | undefined;
  try {
    now = lstatSync(systemPath(path), { throwIfNoEntry: false });
  } catch {
    // Closed to us by its mode or by one above: read, it counts as gone until it is opened again.
    return true;
  }
  // The time of the last change of state: unlike the others, nobody can set it back.
  return now === undefined || now.ino !== inode || now.ctimeMs !== changedAt;
};

/** Names that are not UTF-8 are read a second time, as bytes: decoded, they would name something else. */
const readEntries = async (path: string): Promise<readonly Entry[]> => {
  const place = systemPath(path);
  const entries = await readdir(place, { withFileTypes: true });
  if (!entries.some(({ name }) => name.includes("\uFFFD"))) return entries;
  const exact = await readdir(place, { withFileTypes: true, encoding: "buffer" });
  return exact.map((entry) => ({
    name: nameOf(entry.name),
    isFile: () => entry.isFile(),
    isDirectory: () => entry.isDirectory(),
    isSymbolicLink: () => entry.isSymbolicLink(),
  }));
};

/** Things of some kind in some folders, kept up to date without reading all of them again. */
export const createFolderIndex = <T>({
  roots,
  classifyFolder,
  classify,
  closed,
  unknown,
  skips,
  maxFolders = MAX_FOLDERS,
}: FolderIndexOptions<T>): FolderIndex<T> => {
  const known = new Map<string, Folder<T>>();
  let queue = [...roots];
  let reading: Promise<void> | undefined;
  let list: readonly T[] | undefined;
  let isWhole = true;

  const forget = (path: string): void => {
    for (const other of known.keys()) if (other === path || other.startsWith(`${path}/`)) known.delete(other);
  };

  const remember = (path: string, folder: Stats, lookedAt: number, found: readonly T[]): void => {
    if (known.size >= maxFolders && !known.has(path)) {
      isWhole = false;
      if (found.length === 0) return;
    }
    known.set(path, {
      inode: folder.ino,
      changedAt: folder.ctimeMs,
      isFresh: folder.ctimeMs > lookedAt - FRESH_MS,
      found: found.length === 0 ? NOTHING : found,
    });
  };

  const read = async (path: string): Promise<void> => {
    list = undefined;
    const lookedAt = Date.now();
    const entry = await lstat(systemPath(path)).catch(() => undefined);
    // A link in its place leads to something that is found under its own name, or lies outside.
    const folder = entry?.isDirectory() === true ? entry : undefined;
    const entries = await readEntries(path).catch(() => undefined);
    const before = known.get(path);
    if (before !== undefined && before.inode !== folder?.ino) forget(path);
    if (folder === undefined) return;
    if (entries === undefined) {
      // Whoever owns it can open it again: nobody knows what is in it.
      remember(path, folder, lookedAt, [closed(path)]);
      return;
    }
    const own = classifyFolder(path, entries);
    const found: T[] = own === undefined ? [] : [own];
    for (const [at, entry] of entries.entries()) {
      if (at % LOOKS_AT_ONCE === LOOKS_AT_ONCE - 1) await nextTurn();
      const inner = posix.join(path, entry.name);
      const { found: kinds, enter } = classify(inner, entry);
      found.push(...kinds);
      if (!enter || !entry.isDirectory() || known.has(inner) || skips(inner)) continue;
      if (pathBytes(inner) > MAX_PATH_BYTES) found.push(unknown(inner));
      else queue.push(inner);
    }
    remember(path, folder, lookedAt, found);
  };

  const readQueue = async (): Promise<void> => {
    while (queue.length > 0) {
      const level = queue.values();
      queue = [];
      // They share the one iterator, so that each folder is read by whoever is free.
      const reader = async (): Promise<void> => {
        for (const path of level) await read(path);
      };
      await Promise.all(Array.from({ length: READERS }, reader));
    }
  };

  /** One at a time; whoever comes meanwhile waits for the same. */
  const readAll = async (): Promise<void> => {
    while (queue.length > 0 || reading !== undefined) {
      reading ??= readQueue().finally(() => {
        reading = undefined;
      });
      await reading;
    }
  };

  return {
    update: async () => {
      if (!isWhole && known.size < maxFolders * ROOM_AGAIN) {
        known.clear();
        queue = [...roots];
        isWhole = true;
      }
      const paths = [...known.keys()];
      for (let at = 0; at < paths.length; at += LOOKS_AT_ONCE) {
        for (const path of paths.slice(at, at + LOOKS_AT_ONCE)) {
          const folder = known.get(path);
          if (folder !== undefined && hasChanged(path, folder)) queue.push(path);
        }
        await nextTurn();
      }
      await readAll();
    },
    updateWithin: async (maxMs) => {
      const endsAt = performance.now() + maxMs;
      let looks = 0;
      for (const [path, folder] of known) {
        if (looks % LOOKS_PER_GLANCE === 0 && performance.now() > endsAt) break;
        if (hasChanged(path, folder)) queue.push(path);
        looks++;
      }
      const isAll = looks === known.size;
      await readAll();
      return isAll;
    },
    found: () => {
      list ??= [...known.values()].flatMap(({ found }) => found);
      return list;
    },
    isWhole: () => isWhole,
  };
};
