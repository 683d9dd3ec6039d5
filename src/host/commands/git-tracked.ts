import { statSync } from "node:fs";
import { posix } from "node:path";
import { readOwnFile, readOwnFileSoon } from "../own-files/read-own-file.ts";
import { trackedNames } from "./git-index.ts";

/** More than the index of the largest public repositories. */
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

const MAX_POINTER_BYTES = 4096;

const readPointer = (path: string): string => {
  try {
    return readOwnFile(path, { maxBytes: MAX_POINTER_BYTES }).toString();
  } catch {
    return "";
  }
};

/** Undefined where it is missing, a FIFO, a device, too large, or nothing that we understand. */
const readIndex = async (path: string): Promise<readonly string[] | undefined> => {
  try {
    return trackedNames(await readOwnFileSoon(path, { maxBytes: MAX_INDEX_BYTES }));
  } catch {
    return undefined;
  }
};

/** Where the repository of a folder keeps its index; undefined where the folder is none. */
const indexIn = (folder: string): string | undefined => {
  const git = posix.join(folder, ".git");
  const stats = statSync(git, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return posix.join(git, "index");
  if (stats?.isFile() !== true) return undefined;
  // A linked work tree or a submodule.
  const elsewhere = /^gitdir: (.+?)\s*$/m.exec(readPointer(git))?.[1];
  return elsewhere === undefined ? undefined : posix.resolve(folder, elsewhere, "index");
};

interface Tracked {
  readonly stamp: string;
  readonly asked: string;
  readonly names: ReadonlySet<string>;
}

const withFolders = function* (name: string): Generator<string> {
  yield name;
  for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) yield name.slice(0, at);
};

/** Tells which paths are files that git keeps, or folders that hold one. */
export const createTrackedFinder = () => {
  const cache = new Map<string, Tracked>();

  const among = async (index: string, names: readonly string[]): Promise<ReadonlySet<string>> => {
    const stats = statSync(index, { throwIfNoEntry: false });
    if (stats === undefined) return new Set();
    const stamp = `${stats.ino} ${stats.size} ${stats.ctimeMs}`;
    const asked = names.join("\0");
    const before = cache.get(index);
    if (before?.stamp === stamp && before.asked === asked) return before.names;
    // Of an index that cannot be read, nothing counts as kept by git: when in doubt, a secret is withheld (FAIL-J4).
    const kept = await readIndex(index);
    const wanted = new Set(names);
    const found = new Set<string>();
    for (const name of kept ?? [])
      for (const each of withFolders(name)) if (wanted.has(each)) found.add(each);
    cache.set(index, { stamp, asked, names: found });
    return found;
  };

  return async (paths: readonly string[], roots: readonly string[]): Promise<ReadonlySet<string>> => {
    const repositories = new Map<string, string[]>();
    const homes = new Map<string, string | undefined>();
    const homeOf = (folder: string): string | undefined => {
      if (!homes.has(folder)) {
        const isTop = roots.includes(folder) || folder === "/";
        const own = indexIn(folder) === undefined ? undefined : folder;
        homes.set(folder, own ?? (isTop ? undefined : homeOf(posix.dirname(folder))));
      }
      return homes.get(folder);
    };
    for (const path of paths) {
      const home = homeOf(posix.dirname(path));
      if (home !== undefined) repositories.set(home, [...(repositories.get(home) ?? []), path]);
    }
    const tracked = new Set<string>();
    for (const [home, inside] of repositories) {
      const names = await among(
        indexIn(home) ?? "",
        inside.map((path) => posix.relative(home, path)),
      );
      for (const name of names) tracked.add(posix.join(home, name));
    }
    return tracked;
  };
};
