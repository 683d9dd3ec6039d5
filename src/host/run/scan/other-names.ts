import { lstatSync, readdirSync, type Stats } from "node:fs";
import { posix } from "node:path";
import { isMissing, systemErrorCode } from "../../../base/system-error.ts";
import { unreadable } from "../../git/obeyed-files.ts";
import { nameOf, systemPath } from "../../reach/byte-path.ts";
import { type Entry, entriesOf } from "./read-folder.ts";

/** Maximum number of entries that are searched for other names of a file. */
const MAX_ENTRIES = 100_000;

const statsOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(systemPath(path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/** The same of what is obeyed: whoever cannot look at it does not know that it has one name only. */
const obeyedStats = (path: string): Stats | undefined => {
  try {
    return lstatSync(systemPath(path), { throwIfNoEntry: false });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw unreadable(path.toWellFormed(), systemErrorCode(error) ?? "unknown", error);
  }
};

const keyOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

/** More files than anybody obeys; folders beyond are not looked into. */
const MAX_OBEYED = 10_000;

/** Beside a HEAD these hold what git stores and never obeys; clones on the same disk share it by hard links. */
const GIT_DATA: ReadonlySet<string> = new Set(["objects", "refs", "logs", "lfs"]);

const listNames = (folder: string): readonly string[] => {
  try {
    return readdirSync(systemPath(folder), { encoding: "buffer" }).map(nameOf);
  } catch (error) {
    if (isMissing(error)) return [];
    throw unreadable(folder.toWellFormed(), systemErrorCode(error) ?? "unknown", error);
  }
};

/** The files at and below these paths that have several names. */
export const filesOfManyNames = (tops: readonly string[]): readonly string[] => {
  const linked: string[] = [];
  const paths = [...tops];
  for (const path of paths) {
    const stats = obeyedStats(path);
    if (stats?.isFile() === true && stats.nlink > 1) linked.push(path);
    if (stats?.isDirectory() !== true || paths.length > MAX_OBEYED) continue;
    const names = listNames(path);
    const isGit = names.includes("HEAD");
    for (const name of names) if (!isGit || !GIT_DATA.has(name)) paths.push(posix.join(path, name));
  }
  return linked;
};

/** What cannot be looked into is not entered: no command reads it either. */
const readable = async (folder: string): Promise<readonly Entry[]> => {
  const entries = await entriesOf(folder);
  return entries === undefined || entries === "closed" ? [] : entries;
};

/** Every file in the roots that is one of these. */
const findNames = async (
  wanted: ReadonlySet<string>,
  roots: readonly string[],
): Promise<readonly string[]> => {
  const found: string[] = [];
  const folders = [...roots];
  let entries = 0;
  for (const folder of folders)
    for (const entry of await readable(folder)) {
      if (++entries > MAX_ENTRIES) return found;
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== ".git") folders.push(path);
      const stats = entry.isFile() ? statsOf(path) : undefined;
      if (stats !== undefined && stats.nlink > 1 && wanted.has(keyOf(stats))) found.push(path);
    }
  return found;
};

/**
 * Finds the other hard links of files. The search runs only if one has more links than are known, and again when a link
 * is added or removed, which changes the ctime of the file.
 */
export const createOtherNames = () => {
  let last: { readonly stamp: string; readonly names: readonly string[] } | undefined;
  return async (files: readonly string[], roots: readonly string[]): Promise<readonly string[]> => {
    const known = new Map<string, { readonly stats: Stats; names: number }>();
    for (const path of files) {
      // Package managers hard-link these files from their store, and their content is public.
      const stats = path.includes("/node_modules/") ? undefined : statsOf(path);
      if (stats === undefined || stats.nlink < 2) continue;
      const names = (known.get(keyOf(stats))?.names ?? 0) + 1;
      known.set(keyOf(stats), { stats, names });
    }
    const wanted = [...known].filter(([, { stats, names }]) => names < stats.nlink);
    if (wanted.length === 0) return [];
    const keys = new Set(wanted.map(([key]) => key));
    const stamp = wanted.map(([key, { stats }]) => `${key}:${stats.nlink}:${stats.ctimeMs}`).join(" ");
    const isStill = (path: string): boolean => {
      const stats = statsOf(path);
      return stats !== undefined && keys.has(keyOf(stats));
    };
    if (last?.stamp !== stamp || !last.names.every(isStill))
      last = { stamp, names: await findNames(keys, roots) };
    const named = new Set(files);
    return last.names.filter((path) => !named.has(path));
  };
};
