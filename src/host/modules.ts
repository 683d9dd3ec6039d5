import { readdir, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";

const MODULE_EXTENSIONS = new Set([".ts", ".mts", ".js", ".mjs"]);

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/** Finds and loads the operator's custom modules. They are code of this process: only the operator may write them. */
export const createModuleSource = () => ({
  list: async (folder: string): Promise<readonly string[]> => {
    try {
      const names = await readdir(folder);
      return names
        .filter((name) => MODULE_EXTENSIONS.has(extname(name)) && !/\.(test|d)\.m?ts$/.test(name))
        .toSorted()
        .map((name) => join(folder, name));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  },
  load: async (path: string): Promise<unknown> => {
    // The loader caches by address: the time of the last change makes an edited module a new one.
    const stats = await stat(path);
    // A FIFO in its place would be waited for without end.
    if (!stats.isFile()) throw new Error("it is not a regular file");
    return import(`${pathToFileURL(path).href}?changed=${stats.mtimeMs}`);
  },
});
