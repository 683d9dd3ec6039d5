import { lstatSync, type Stats } from "node:fs";
import { readdir } from "node:fs/promises";
import { posix } from "node:path";
import { systemPath } from "../../reach/byte-path.ts";

/** Maximum number of entries that are searched for other names of a secret. */
const MAX_ENTRIES = 100_000;

const statsOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(systemPath(path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

const keyOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

/** Every file in the roots that is one of these. */
const findNames = async (
  wanted: ReadonlySet<string>,
  roots: readonly string[],
): Promise<readonly string[]> => {
  const found: string[] = [];
  const folders = [...roots];
  let entries = 0;
  for (const folder of folders)
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (++entries > MAX_ENTRIES) return found;
      const path = posix.join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== ".git") folders.push(path);
      const stats = entry.isFile() ? statsOf(path) : undefined;
      if (stats !== undefined && stats.nlink > 1 && wanted.has(keyOf(stats))) found.push(path);
    }
  return found;
};

/**
 * Finds the other hard links of secrets. The search runs only if a secret has more links than are known, and again when
 * a link is added or removed, which changes the ctime of the file.
 */
export const createOtherNames = () => {
  let last: { readonly stamp: string; readonly names: readonly string[] } | undefined;
  return async (secrets: readonly string[], roots: readonly string[]): Promise<readonly string[]> => {
    const known = new Map<string, { readonly stats: Stats; names: number }>();
    for (const path of secrets) {
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
    const named = new Set(secrets);
    return last.names.filter((path) => !named.has(path));
  };
};
