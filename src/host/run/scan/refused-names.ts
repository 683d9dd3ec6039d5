import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { posix } from "node:path";
import { isRefusedName } from "../../../policy/paths.ts";
import { systemPath } from "../../reach/byte-path.ts";
import { removeTree } from "../../write/tree.ts";
import { entriesOf } from "./read-folder.ts";

/** A terminal shows no more, and a tree with more folders is searched in part. */
const MAX_FOUND = 1000;
const MAX_FOLDERS = 50_000;

export interface RefusedNames {
  /** What commands left and llmc renamed; real paths, in order. */
  readonly paths: readonly string[];
  /** There may be more. */
  readonly isCut: boolean;
}

/** Finds what was renamed because programs would obey it. Links are not followed. */
export const findRefusedNames = async (roots: readonly string[]): Promise<RefusedNames> => {
  const paths: string[] = [];
  const folders = [...roots];
  for (let at = 0; at < folders.length && at < MAX_FOLDERS && paths.length < MAX_FOUND; at++) {
    const folder = folders[at] ?? "";
    const entries = await entriesOf(folder);
    for (const entry of entries === undefined || entries === "closed" ? [] : entries) {
      const path = posix.join(folder, entry.name);
      if (isRefusedName(entry.name)) paths.push(path);
      else if (entry.isDirectory()) folders.push(path);
    }
  }
  const isCut = folders.length > MAX_FOLDERS || paths.length >= MAX_FOUND;
  return { paths: paths.slice(0, MAX_FOUND).toSorted(), isCut };
};

const enter = (path: string): Promise<FileHandle> =>
  open(systemPath(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

/** Removes one of them, from folder to folder without following a link: a command may still run beside us. */
export const removeRefused = async (root: string, path: string): Promise<void> => {
  const names = posix.relative(root, path).split("/");
  const last = names.pop() ?? "";
  if (!isRefusedName(last)) return;
  let at = await enter(root);
  try {
    for (const name of names) {
      const next = await enter(`/proc/self/fd/${at.fd}/${name}`);
      await at.close();
      at = next;
    }
    await removeTree(systemPath(`/proc/self/fd/${at.fd}/${last}`), last);
  } finally {
    await at.close();
  }
};
