import { posix } from "node:path";

/** The entries of each folder that are among the files or contain some of them. */
const treeOf = (files: readonly string[], roots: ReadonlySet<string>): Map<string, Set<string>> => {
  const tree = new Map<string, Set<string>>();
  for (const file of files) {
    for (let path = file; !roots.has(path) && path !== "/"; path = posix.dirname(path)) {
      const folder = posix.dirname(path);
      const held = tree.get(folder) ?? new Set();
      const wasThere = tree.has(folder);
      tree.set(folder, held.add(path));
      if (wasThere) break;
    }
  }
  return tree;
};

/**
 * At most `max` names that cover all the files: the files themselves where they are few, otherwise whole folders
 * instead of many files. A root is never covered: undefined where it holds too much itself.
 */
export const coverFiles = (
  files: readonly string[],
  roots: readonly string[],
  max: number,
): readonly string[] | undefined => {
  if (files.length <= max) return files;
  const tree = treeOf(files, new Set(roots));
  const heldBy = (folder: string): number => tree.get(folder)?.size ?? 0;
  let cover = roots.flatMap((root) => [...(tree.get(root) ?? [])]);
  if (cover.length > max) return undefined;
  for (let isFiner = true; isFiner; ) {
    isFiner = false;
    let size = cover.length;
    // Folders with the fewest files come first, so that the fullest ones remain covered as a whole.
    const ordered = cover.toSorted((one, other) => heldBy(one) - heldBy(other));
    cover = ordered.flatMap((path) => {
      const held = heldBy(path);
      if (held === 0 || size + held - 1 > max) return [path];
      size += held - 1;
      isFiner = true;
      return [...(tree.get(path) ?? [])];
    });
  }
  return cover;
};
