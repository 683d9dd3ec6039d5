import type { Dirent, Stats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { isMissing } from "../../../base/system-error.ts";
import { nameOf, systemPath } from "../../reach/byte-path.ts";

export type Entry = Pick<Dirent, "name" | "isFile" | "isDirectory" | "isSymbolicLink">;

/** Names that are not UTF-8 are read a second time, as bytes: decoded, they would name something else. */
const readEntries = async (path: string): Promise<readonly Entry[]> => {
  const bytes = systemPath(path);
  const entries = await readdir(bytes, { withFileTypes: true });
  if (!entries.some(({ name }) => name.includes("\uFFFD"))) return entries;
  const exact = await readdir(bytes, { withFileTypes: true, encoding: "buffer" });
  return exact.map((entry) => ({
    name: nameOf(entry.name),
    isFile: () => entry.isFile(),
    isDirectory: () => entry.isDirectory(),
    isSymbolicLink: () => entry.isSymbolicLink(),
  }));
};

const closedUnlessMissing = (error: unknown): "closed" | undefined =>
  isMissing(error) ? undefined : "closed";

/** The entries of a folder; undefined where there is none, "closed" where that cannot be known. */
export const entriesOf = (path: string): Promise<readonly Entry[] | "closed" | undefined> =>
  readEntries(path).catch(closedUnlessMissing);

/** A folder by its own entry: a link in its place leads to something that is found under its own name, or is outside. */
export const folderAt = async (path: string): Promise<Stats | "closed" | undefined> => {
  const found = await lstat(systemPath(path)).catch(closedUnlessMissing);
  return typeof found !== "object" || found.isDirectory() ? found : undefined;
};
