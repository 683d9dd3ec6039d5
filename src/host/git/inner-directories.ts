import type { Dirent } from "node:fs";
import { posix } from "node:path";
import { refusedRepository } from "./files.ts";
import { isThere, listObeyed, MISSING, obeyedEntry } from "./obeyed-files.ts";

const MAX_SUBMODULES = 500;

/** Git directories inside another one. */
export interface InnerDirectories {
  readonly found: readonly string[];
  /** Entries that git may follow, and we do not: links, and names that are not UTF-8. */
  readonly unknown: readonly string[];
}

/** The folders in a folder of git's own, by their real entries. */
const foldersIn = (folder: string): InnerDirectories => {
  const there = obeyedEntry(folder);
  if (there === MISSING) return { found: [], unknown: [] };
  if (!there.isDirectory()) return { found: [], unknown: [folder] };
  const entries = listObeyed(folder);
  const isClear = (entry: Dirent): boolean => !entry.isSymbolicLink() && !entry.name.includes("\uFFFD");
  const paths = (some: readonly Dirent[]): readonly string[] =>
    some.map(({ name }) => posix.join(folder, name));
  return {
    found: paths(entries.filter((entry) => isClear(entry) && entry.isDirectory())),
    unknown: paths(entries.filter((entry) => !isClear(entry))),
  };
};

/** Git directories of submodules, for which git starts another git process; their names may contain slashes. */
export const submodulesOf = (commonDir: string): InnerDirectories => {
  const folders = [posix.join(commonDir, "modules")];
  const found: string[] = [];
  const unknown: string[] = [];
  for (const folder of folders) {
    if (folders.length > MAX_SUBMODULES) throw refusedRepository("it has too many submodules to look at");
    if (isThere(posix.join(folder, "HEAD"))) {
      found.push(folder);
      folders.push(posix.join(folder, "modules"));
      continue;
    }
    const inner = foldersIn(folder);
    folders.push(...inner.found);
    unknown.push(...inner.unknown);
  }
  return { found, unknown };
};

/** Those of work trees that were added: they share its settings, and may have more. */
export const workTreesOf = (gitDir: string): InnerDirectories => foldersIn(posix.join(gitDir, "worktrees"));
