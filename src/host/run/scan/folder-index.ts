import { lstatSync, type Stats } from "node:fs";
import { posix } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isBelowOneOf } from "../../../base/paths.ts";
import { isDeep } from "../../../policy/paths.ts";
import { pathBytes, systemPath } from "../../reach/byte-path.ts";
import { type Entry, entriesOf, folderAt } from "./read-folder.ts";

/** What is remembered of a folder, so that it is read again only when its entries have changed. */
interface Folder<T> {
  readonly inode: number;
  readonly changedAt: number;
  /** When it changed: by its file system if that was before the first scan, otherwise when it was first seen so. */
  readonly seenAt: number;
  /** It changed so shortly before it was read that a later change may bear the same time. */
  readonly isFresh: boolean;
  /** Of a folder that is closed, what it held when it could be read the last time. */
  readonly found: readonly T[];
  /** Set where it could not be read. */
  readonly closed?: T;
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
  /** A folder that cannot be looked into. What is known of it and of everything below stays as it was. */
  readonly closed: (path: string) => T;
  /** A folder that lies too deep for the tools, or whose path is too long for a system call. */
  readonly unknown: (path: string) => T;
  /** Folders that are not entered. */
  readonly skips: (path: string) => boolean;
  /** How many are remembered. */
  readonly maxFolders?: number;
}

export interface FolderIndex<T> {
  /** Reads every folder that is new or has changed; the first time, that is all of them. */
  update(): Promise<void>;
  /** The same for those that can be checked in this time, the shallowest first; says whether these were all. */
  updateWithin(maxMs: number): Promise<boolean>;
  /** The same list as long as nothing was read anew. */
  found(): readonly T[];
  /** False where there are more folders than are remembered: the others were read once, if at all. */
  isWhole(): boolean;
}

/**
 * Times of files have steps of up to 10 ms on most file systems, of 1 s on ext3, HFS+ and ext4 with small inodes, and
 * of 2 s on FAT.
 */
const FRESH_MS = 2100;
const READERS = 16;
/** Folders or entries that are checked before the event loop gets a turn. */
const CHECKS_AT_ONCE = 500;
/** Folders that are checked between two readings of the clock. */
const CHECKS_PER_CLOCK = 32;
/** About 200 bytes each. The shallowest are remembered, and beyond this number only those in which something was found. */
const MAX_FOLDERS = 200_000;
/** Below this share of the maximum there is room for folders that were left out, and everything is read again. */
const ROOM_AGAIN = 0.9;
/** Below what the system takes for a path (4,096), with room for a name in it. */
const MAX_PATH_BYTES = 3800;
const NOTHING: readonly never[] = [];

const hasChanged = (path: string, { inode, changedAt, isFresh, closed }: Folder<unknown>): boolean => {
  if (isFresh || closed !== undefined) return true;
  let now: Stats | undefined;
  try {
    now = lstatSync(systemPath(path), { throwIfNoEntry: false });
  } catch {
    // Its own mode or that of a parent denies access.
    return true;
  }
  // The time of the last change of state: unlike the others, nobody can set it back.
  return now === undefined || now.ino !== inode || now.ctimeMs !== changedAt;
};

interface State<T> {
  /** The remembered folders right below each folder. */
  readonly children: Map<string, Set<string>>;
  readonly options: FolderIndexOptions<T>;
  readonly maxFolders: number;
  readonly known: Map<string, Folder<T>>;
  /** Folders that the next pass reads in any case. */
  pending: Set<string>;
  /** The end of the last pass that was asked for. */
  lastPass: Promise<unknown>;
  /** The pass over everything that has not begun yet. */
  nextUpdate: Promise<void> | undefined;
  /** All that was found, until something is read again. */
  list: readonly T[] | undefined;
  isWhole: boolean;
  /** Whether all folders were read once. */
  isScanned: boolean;
}

/** Forgets a folder and all that is below it, in a time that grows with what is forgotten, not with what is known. */
const forget = ({ known, children }: State<unknown>, path: string): void => {
  children.get(posix.dirname(path))?.delete(path);
  const paths = [path];
  for (const next of paths) {
    known.delete(next);
    for (const below of children.get(next) ?? []) paths.push(below);
    children.delete(next);
  }
};

/** A folder may be remembered without the one that it is in, so each link up to its root is kept. */
const linkToParent = ({ children, options: { roots } }: State<unknown>, path: string): void => {
  for (let below = path; !roots.includes(below) && below !== "/"; below = posix.dirname(below)) {
    const parent = posix.dirname(below);
    const siblings = children.get(parent) ?? new Set();
    if (siblings.has(below)) return;
    children.set(parent, siblings.add(below));
  }
};

const remember = <T>(
  state: State<T>,
  path: string,
  folder: Pick<Stats, "ino" | "ctimeMs">,
  lookedAt: number,
  { found, closed }: Pick<Folder<T>, "found" | "closed">,
): void => {
  if (state.known.size >= state.maxFolders && !state.known.has(path)) {
    state.isWhole = false;
    if (found.length === 0 && closed === undefined) return;
  }
  linkToParent(state, path);
  const { ino: inode, ctimeMs: changedAt } = folder;
  const before = state.known.get(path);
  const isSame = before?.inode === inode && before.changedAt === changedAt;
  // The clock of a network file system may be behind ours, so only the first scan has to rely on it.
  const seenAt = isSame ? before.seenAt : state.isScanned ? lookedAt : changedAt;
  state.known.set(path, {
    inode,
    changedAt,
    seenAt,
    isFresh: seenAt > lookedAt - FRESH_MS,
    found: found.length === 0 ? NOTHING : found,
    ...(closed === undefined ? {} : { closed }),
  });
};

/** What the entries of a folder are; those to be entered are added to the next level. */
const classifyEntries = async <T>(
  state: State<T>,
  path: string,
  entries: readonly Entry[],
  below: Set<string>,
): Promise<readonly T[]> => {
  const { classifyFolder, classify, unknown, skips } = state.options;
  const own = classifyFolder(path, entries);
  const found: T[] = own === undefined ? [] : [own];
  for (const [at, entry] of entries.entries()) {
    if (at % CHECKS_AT_ONCE === CHECKS_AT_ONCE - 1) await nextTurn();
    const inner = posix.join(path, entry.name);
    const { found: kinds, enter } = classify(inner, entry);
    found.push(...kinds);
    if (!enter || !entry.isDirectory() || state.known.has(inner) || skips(inner)) continue;
    if (isDeep(inner) || pathBytes(inner) > MAX_PATH_BYTES) found.push(unknown(inner));
    else below.add(inner);
  }
  return found;
};

const readFolder = async <T>(state: State<T>, path: string, below: Set<string>): Promise<void> => {
  state.list = undefined;
  const lookedAt = Date.now();
  const folder = await folderAt(path);
  const entries = await entriesOf(path);
  const before = state.known.get(path);
  const isSame = folder === "closed" || before?.inode === folder?.ino;
  if (before !== undefined && !isSame) forget(state, path);
  if (folder === undefined || entries === undefined) return;
  if (folder !== "closed" && entries !== "closed") {
    remember(state, path, folder, lookedAt, { found: await classifyEntries(state, path, entries, below) });
    return;
  }
  // Its owner can open it again, and a command may have closed it: nobody knows that anything in it is gone.
  const found = isSame ? (before?.found ?? NOTHING) : NOTHING;
  const closed = before?.closed ?? state.options.closed(path);
  const stamp = folder === "closed" ? { ino: before?.inode ?? -1, ctimeMs: before?.changedAt ?? 0 } : folder;
  remember(state, path, stamp, lookedAt, { found, closed });
};

/** Reads folders, and those below them that are new. */
const readFolders = async <T>(state: State<T>, folders: Set<string>): Promise<void> => {
  let level = folders;
  while (level.size > 0) {
    const paths = level.values();
    const below = new Set<string>();
    // All readers share one iterator, so that each folder is read by the next free reader.
    const reader = async (): Promise<void> => {
      for (const path of paths) await readFolder(state, path, below);
    };
    await Promise.all(Array.from({ length: READERS }, reader));
    level = below;
  }
  state.isScanned = true;
};

/**
 * One pass after the other: a folder that is being read is not yet remembered, so a pass beside it would neither find that it
 * has changed since, nor read it again.
 */
const inTurn = <T, R>(state: State<T>, pass: (changed: Set<string>) => Promise<R>): Promise<R> => {
  const run = state.lastPass.then(() => {
    const { pending } = state;
    state.pending = new Set();
    return pass(pending);
  });
  state.lastPass = run.catch(() => {});
  return run;
};

const updateAll = async <T>(state: State<T>, changed: Set<string>): Promise<void> => {
  const { known, maxFolders } = state;
  if (!state.isWhole && known.size < maxFolders * ROOM_AGAIN) {
    known.clear();
    state.children.clear();
    for (const root of state.options.roots) changed.add(root);
    state.isWhole = true;
  }
  const paths = [...known.keys()];
  for (let at = 0; at < paths.length; at += CHECKS_AT_ONCE) {
    for (const path of paths.slice(at, at + CHECKS_AT_ONCE)) {
      const folder = known.get(path);
      if (folder !== undefined && hasChanged(path, folder)) changed.add(path);
    }
    await nextTurn();
  }
  await readFolders(state, changed);
};

/** Whoever asks before a pass has begun shares it: it sees all that has changed by then. */
const update = <T>(state: State<T>): Promise<void> => {
  state.nextUpdate ??= inTurn(state, (changed) => {
    state.nextUpdate = undefined;
    return updateAll(state, changed);
  });
  return state.nextUpdate;
};

const updateWithin = <T>(state: State<T>, maxMs: number): Promise<boolean> =>
  inTurn(state, async (changed) => {
    const endsAt = performance.now() + maxMs;
    let checks = 0;
    for (const [path, folder] of state.known) {
      if (checks % CHECKS_PER_CLOCK === 0 && performance.now() > endsAt) break;
      if (hasChanged(path, folder)) changed.add(path);
      checks++;
    }
    const isAll = checks === state.known.size;
    await readFolders(state, changed);
    return isAll;
  });

/** Of closed folders in each other, the topmost says it all. */
const listFound = <T>({ known }: State<T>): readonly T[] => {
  const closedPaths = new Set(
    [...known].filter(([, { closed }]) => closed !== undefined).map(([path]) => path),
  );
  return [...known].flatMap(([path, { found, closed }]) =>
    closed === undefined || isBelowOneOf(path, closedPaths) ? found : [...found, closed],
  );
};

/** Things of some kind in some folders, kept up to date without reading all folders again. */
export const createFolderIndex = <T>(options: FolderIndexOptions<T>): FolderIndex<T> => {
  const state: State<T> = {
    options,
    maxFolders: options.maxFolders ?? MAX_FOLDERS,
    known: new Map(),
    children: new Map(),
    pending: new Set(options.roots),
    lastPass: Promise.resolve(),
    nextUpdate: undefined,
    list: undefined,
    isWhole: true,
    isScanned: false,
  };
  return {
    update: () => update(state),
    updateWithin: (maxMs) => updateWithin(state, maxMs),
    found: () => {
      state.list ??= listFound(state);
      return state.list;
    },
    isWhole: () => state.isWhole,
  };
};
