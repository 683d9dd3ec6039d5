import { readdirSync } from "node:fs";

/** Limits the search; larger trees are rescanned periodically instead. */
const MAX_FOUND = 1000;
const MAX_DEPTH = 4;

/**
 * Directories below these ones, but not among them, that hold nothing yet, or only hidden names. ripgrep lists files, so
 * nothing tells of them; one that has files, and still is not among these, is ignored.
 */
export const findBlankDirectories = (directories: ReadonlySet<string>): ReadonlySet<string> => {
  const found = new Set<string>();

  /** The directories of a tree without files; undefined where there is a file. */
  const blankTree = (path: string, depth: number): string[] | undefined => {
    if (depth > MAX_DEPTH) return undefined;
    const tree = [path];
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.name.startsWith(".")) continue;
      const inner = entry.isDirectory() ? blankTree(`${path}/${entry.name}`, depth + 1) : undefined;
      if (inner === undefined) return undefined;
      tree.push(...inner);
    }
    return tree;
  };

  for (const directory of directories) {
    try {
      for (const entry of readdirSync(directory, { withFileTypes: true })) {
        const path = `${directory}/${entry.name}`;
        if (found.size >= MAX_FOUND) return found;
        if (!entry.isDirectory() || entry.name.startsWith(".") || directories.has(path)) continue;
        for (const blank of blankTree(path, 1) ?? []) found.add(blank);
      }
    } catch {
      // It has disappeared or cannot be read.
    }
  }
  return found;
};
