import { readdir, stat } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemErrorCode } from "../../base/system-error.ts";
import type { Digests } from "../trust/trusted-modules.ts";

const MODULE_EXTENSIONS = new Set([".ts", ".mts", ".js", ".mjs"]);

/**
 * Finds and loads custom modules. They are code of this process: the operator's own are loaded as they are, those that
 * a workspace brings (`digests`) only with the content that was granted.
 */
export const createModuleSource = (digests: () => Digests | undefined) => ({
  list: async (folder: string): Promise<readonly string[]> => {
    try {
      const names = await readdir(folder);
      return names
        .filter((name) => MODULE_EXTENSIONS.has(extname(name)) && !/\.(test|d)\.m?ts$/.test(name))
        .toSorted()
        .map((name) => join(folder, name));
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return [];
      throw error;
    }
  },
  load: async (path: string): Promise<unknown> => {
    const granted = digests();
    if (granted !== undefined) {
      const { importTrusted } = await import("../trust/trusted-modules.ts");
      return importTrusted(dirname(path), path, granted);
    }
    // The loader caches by address: the time of the last change makes an edited module a new one.
    const stats = await stat(path);
    // A FIFO in its place would block forever.
    if (!stats.isFile()) throw new Error("it is not a regular file");
    return import(`${pathToFileURL(path).href}?changed=${stats.mtimeMs}`);
  },
});
