import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { type ResolveHookSync, registerHooks } from "node:module";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemErrorCode } from "../../base/system-error.ts";
import { realOrFuture } from "../own-files/real-or-future.ts";
import type { Digests } from "../trust/trusted-modules.ts";

const MODULE_EXTENSIONS = new Set([".ts", ".mts", ".js", ".mjs"]);

/** More files than a folder of modules has; what lies beyond is taken as unchanged. */
const MAX_FILES = 1000;

/** Names the state of a folder's files: the times of their last changes and their sizes. */
const stateOf = async (folder: string): Promise<string> => {
  const hash = createHash("sha256");
  let left = MAX_FILES;
  const visit = async (path: string): Promise<void> => {
    for (const entry of (await readdir(path, { withFileTypes: true })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const inside = join(path, entry.name);
      if (left-- <= 0) return;
      if (entry.isDirectory() && entry.name !== "node_modules") await visit(inside);
      const stats = entry.isFile() ? await stat(inside) : undefined;
      if (stats !== undefined) hash.update(`${inside}\0${stats.mtimeMs}\0${stats.size}\0`);
    }
  };
  await visit(folder);
  return hash.digest("hex").slice(0, 16);
};

const MARK = "changed";

/** Files that a module imports by a relative path are loaded again with it. */
const resolveBeside: ResolveHookSync = (specifier, context, nextResolve) => {
  const { parentURL } = context;
  const state = parentURL?.startsWith("file:") ? new URL(parentURL).searchParams.get(MARK) : null;
  const found = nextResolve(specifier, context);
  const isBeside = state !== null && /^\.\.?\//.test(specifier) && found.url.startsWith("file:");
  return isBeside ? { ...found, url: `${found.url}?${MARK}=${state}` } : found;
};

let isHooked = false;

/** The loader caches by address: the state of the folder makes an edited module a new one. */
const importChanged = (path: string, state: string): Promise<unknown> => {
  if (!isHooked) registerHooks({ resolve: resolveBeside });
  isHooked = true;
  return import(`${pathToFileURL(path).href}?${MARK}=${state}`);
};

/**
 * Finds and loads custom modules. They are code of this process: the operator's own are loaded as they are, those that
 * a workspace brings (`digests`) only with the content that was granted. What a running command may have written
 * (`mayHaveWritten`) waits until that was checked, and the modules that were loaded before stay.
 */
export const createModuleSource = (
  digests: (path: string) => Digests | undefined,
  mayHaveWritten: (path: string) => boolean = () => false,
) => {
  /** The state of the folder when it was last listed, and the modules in it. */
  let listed: string | undefined;
  let files: readonly string[] = [];
  const loaded = new Map<string, unknown>();
  let isWaiting = false;
  const isUnchecked = (path: string): boolean => {
    const isOpen = digests(path) === undefined && [path, realOrFuture(path)].some(mayHaveWritten);
    isWaiting ||= isOpen;
    return isOpen;
  };
  const list = async (folder: string): Promise<readonly string[]> => {
    if (isUnchecked(folder)) return files;
    try {
      const names = await readdir(folder);
      listed = await stateOf(folder);
      files = names
        .filter((name) => MODULE_EXTENSIONS.has(extname(name)) && !/\.(test|d)\.m?ts$/.test(name))
        .toSorted()
        .map((name) => join(folder, name));
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
      listed = undefined;
      files = [];
    }
    return files;
  };
  const load = async (path: string): Promise<unknown> => {
    const granted = digests(path);
    if (granted !== undefined) {
      const { importTrusted } = await import("../trust/trusted-modules.ts");
      return importTrusted(dirname(path), path, granted);
    }
    // Judged and loaded by its real path, because a command can replace links on the way in between.
    const real = realOrFuture(path);
    if (isUnchecked(path) || isUnchecked(real)) {
      if (loaded.has(path)) return loaded.get(path);
      throw new Error("a command that is running may have written it");
    }
    // A FIFO in its place would block forever.
    if (!(await stat(real)).isFile()) throw new Error("it is not a regular file");
    const module = await importChanged(real, await stateOf(dirname(real)));
    loaded.set(path, module);
    return module;
  };
  return {
    list,
    load,
    /** Whether files in the folder have changed since it was listed. */
    hasChanged: async (folder: string): Promise<boolean> =>
      !isUnchecked(folder) && (await stateOf(folder).catch(() => undefined)) !== listed,
    /** Whether something was left out since this was last asked, because a command may have written it. */
    wasWaiting: (): boolean => {
      const was = isWaiting;
      isWaiting = false;
      return was;
    },
  };
};
