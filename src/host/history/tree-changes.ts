import type { Budget } from "./budget.ts";
import type { ObjectStore } from "./object-store.ts";

/** Bytes of an entry that a folder has before its name. */
const FOLDER = "40000 ";
const ID_BYTES = 20;
/** Deeper folders are those of a repository that was made to be slow. */
const MAX_DEPTH = 64;
/** As long as a path can be on Linux: no file of the workspace has a longer one. */
const MAX_PATH_CHARS = 4096;
/** After so many entries the time is looked at. */
const STEPS = 1024;

/** The entries of a folder as they are written: mode, name, id. Most are the same before and after. */
const readEntries = (store: ObjectStore, id: string | undefined): ReadonlySet<string> => {
  const entries = new Set<string>();
  const bytes = id === undefined ? undefined : store.read(id, "tree");
  if (bytes === undefined) return entries;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at) + 1 + ID_BYTES;
    if (end <= at + ID_BYTES) break;
    entries.add(bytes.toString("latin1", at, end));
    if (entries.size % STEPS === 0) store.budget.spend(0);
    at = end;
  }
  return entries;
};

interface Changed {
  /** Ids of the folder of this name before and after. */
  readonly folders: [string | undefined, string | undefined];
  isFile: boolean;
}

/** What is not the same in both, by name. */
const differences = (
  sides: readonly [ReadonlySet<string>, ReadonlySet<string>],
  budget: Budget,
): ReadonlyMap<string, Changed> => {
  const found = new Map<string, Changed>();
  let steps = 0;
  for (const side of [0, 1] as const)
    for (const entry of sides[side]) {
      if (++steps % STEPS === 0) budget.spend(0);
      if (sides[side === 0 ? 1 : 0].has(entry)) continue;
      const end = entry.indexOf("\0");
      const name = Buffer.from(entry.slice(entry.indexOf(" ") + 1, end), "latin1").toString();
      const changed = found.get(name) ?? { folders: [undefined, undefined], isFile: false };
      if (entry.startsWith(FOLDER))
        changed.folders[side] = Buffer.from(entry.slice(end + 1), "latin1").toString("hex");
      else changed.isFile = true;
      found.set(name, changed);
    }
  return found;
};

/** Files that differ between two trees; none where there are more than `maxPaths`. */
export const changedPaths = (
  store: ObjectStore,
  oldTree: string,
  newTree: string,
  maxPaths: number,
): readonly string[] => {
  const found: string[] = [];
  /** Pairs of folders without a changed file: a few folders that hold each other have any number of paths. */
  const withoutFiles = new Set<string>();
  /** False as soon as there are too many. */
  const compare = (
    old: string | undefined,
    current: string | undefined,
    folder: string,
    depth: number,
  ): boolean => {
    if (old === current) return true;
    if (depth > MAX_DEPTH) return false;
    const pair = `${old} ${current}`;
    if (withoutFiles.has(pair)) return true;
    const before = found.length;
    const changed = differences([readEntries(store, old), readEntries(store, current)], store.budget);
    for (const [name, { folders, isFile }] of changed) {
      if (folder.length + name.length > MAX_PATH_CHARS) continue;
      if (isFile && found.push(`${folder}${name}`) > maxPaths) return false;
      if (!compare(...folders, `${folder}${name}/`, depth + 1)) return false;
    }
    if (found.length === before) withoutFiles.add(pair);
    return true;
  };
  return compare(oldTree, newTree, "", 0) ? found : [];
};
