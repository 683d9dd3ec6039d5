import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
} from "node:fs";
import { isBuiltin, type LoadHookSync, type ResolveHookSync, registerHooks } from "node:module";
import { extname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { LlmcError } from "../../base/error.ts";

/** SHA-256 of each file of a folder, by its path in the folder. */
export type Digests = Readonly<Record<string, string>>;

const MAX_FILE_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 1000;

const FORMATS: Readonly<Record<string, string>> = {
  ".js": "module",
  ".mjs": "module",
  ".ts": "module-typescript",
  ".mts": "module-typescript",
  ".json": "json",
};

/** Does not follow links or block on pipes. */
const withRegular = <T>(path: string, read: (fd: number, size: number) => T): T => {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error("it is not a regular file");
    return read(fd, stats.size);
  } finally {
    closeSync(fd);
  }
};

/** A regular file as a whole; one that is too large is refused. */
export const readRegular = (path: string): Buffer =>
  withRegular(path, (fd, size) => {
    if (size > MAX_FILE_BYTES) throw new Error(`it is over ${MAX_FILE_BYTES} bytes`);
    return readFileSync(fd);
  });

/** The beginning of a regular file of any size. */
export const readBeginning = (path: string, maxBytes: number): Buffer =>
  withRegular(path, (fd) => {
    const buffer = Buffer.alloc(maxBytes);
    return buffer.subarray(0, readSync(fd, buffer, 0, maxBytes, 0));
  });

export const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** Digests of all regular files below the folder; links, pipes and the like are left out, and so cannot be loaded. */
export const digestFolder = (folder: string): Digests => {
  const digests: Record<string, string> = {};
  const visit = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const inside = join(path, entry.name);
      if (entry.isDirectory()) visit(inside);
      else if (entry.isFile()) {
        if (Object.keys(digests).length >= MAX_FILES)
          throw new Error(`the folder has over ${MAX_FILES} files`);
        digests[relative(folder, inside)] = sha256(readRegular(inside));
      }
    }
  };
  visit(realpathSync(folder));
  return digests;
};

interface Guarded {
  readonly digests: Digests;
  /** Changes with every digest, so that nothing of an older state stays in the loader's cache. */
  readonly generation: string;
}

/** By the folder's real path. The hooks are the process's, so the table is too. */
const guarded = new Map<string, Guarded>();
const MARK = "trusted";

const folderOf = (path: string): string | undefined =>
  [...guarded.keys()].find((folder) => path.startsWith(`${folder}${sep}`));

/** The file of a module that is loaded by its digest; undefined for everybody else's. */
const guardedFile = (url: string | undefined): string | undefined => {
  if (url === undefined || !url.startsWith("file:") || guarded.size === 0) return undefined;
  const { searchParams } = new URL(url);
  // Modules that the operator named by flag or environment carry another mark.
  if (searchParams.has("changed")) return undefined;
  const path = fileURLToPath(url);
  return folderOf(path) === undefined ? undefined : path;
};

const addressOf = (path: string, folder: string): string =>
  `${pathToFileURL(path).href}?${MARK}=${guarded.get(folder)?.generation}`;

const refuse = (specifier: string, why: string): Error => new Error(`it may not import ${specifier}: ${why}`);

/** A trusted module reaches Node's own modules and the files of its folder: nothing else was digested. */
const resolveHook: ResolveHookSync = (specifier, context, nextResolve) => {
  const own = guardedFile(specifier);
  if (own !== undefined) return { url: specifier, shortCircuit: true };
  const parent = guardedFile(context.parentURL);
  if (parent === undefined || isBuiltin(specifier)) return nextResolve(specifier, context);
  if (!/^\.\.?\//.test(specifier)) {
    throw refuse(specifier, "a workspace's module can import node: modules and files of its own folder only");
  }
  const path = resolve(parent, "..", specifier);
  const folder = folderOf(parent);
  if (folder === undefined || folderOf(path) !== folder)
    throw refuse(specifier, "it is outside the modules' folder");
  return { url: addressOf(path, folder), shortCircuit: true };
};

const loadHook: LoadHookSync = (url, context, nextLoad) => {
  const path = guardedFile(url);
  if (path === undefined) return nextLoad(url, context);
  const folder = folderOf(path) ?? "";
  const format = FORMATS[extname(path)];
  const name = relative(folder, path);
  if (format === undefined) throw new Error(`${name} does not have the extension of a module`);
  // What was digested is what is run: the file is read once.
  const source = readRegular(path);
  const digest = guarded.get(folder)?.digests[name];
  if (digest === undefined || digest !== sha256(source)) {
    const how = digest === undefined ? "was not there" : "had different content";
    throw new LlmcError(
      "forbidden",
      `${name} ${how} when this workspace was trusted: look at it, then run llmc trust`,
    );
  }
  return { format, source, shortCircuit: true };
};

/** Loads a module of a workspace, if its content and that of all it imports are those that were granted. */
export const importTrusted = async (folder: string, path: string, digests: Digests): Promise<unknown> => {
  const real = realpathSync(folder);
  const generation = sha256(JSON.stringify(digests)).slice(0, 16);
  if (guarded.size === 0) registerHooks({ resolve: resolveHook, load: loadHook });
  guarded.set(real, { digests, generation });
  return import(addressOf(join(real, relative(folder, path)), real));
};
