import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join, relative, resolve } from "node:path";
import { isInside } from "../../base/paths.ts";
import { compileCacheFolder } from "./compile-cache.ts";
import { UNNAMED_PACKAGES } from "./local-model.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything in a checkout that a running server loads, or that starts it. */
const RUN_FROM = ["assets", "bin", "dist", "node_modules", "package.json", "schema", "scripts", "src"];

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const manifestOf = (folder: string): Manifest => {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return {};
  }
};

/** As Node itself says: `node_modules` in this folder and in every one above it, existing or not, and a few of the user's. */
const lookedThroughFrom = (folder: string): readonly string[] =>
  createRequire(join(folder, "package.json")).resolve.paths("any-package") ?? [];

const realPackage = (name: string, folders: readonly string[]): string | undefined => {
  const path = folders.map((folder) => join(folder, name)).find((candidate) => existsSync(candidate));
  return path === undefined ? undefined : realpathSync.native(path);
};

/** Of a folder, whether it is a checkout, whose sources are run; the launchers ask the same. */
const isCheckout = (home: string): boolean => existsSync(join(home, "src/main.ts"));

/**
 * Where the packages that may be loaded really are, and every folder in which one of them might be found: package
 * managers share, hoist and link them, and what is missing in one folder is looked for in the next.
 */
const findPackages = (home: string): readonly string[] => {
  const packages = new Set([home]);
  const found = new Set<string>();
  for (const folder of packages) {
    const looked = lookedThroughFrom(folder);
    for (const path of looked) found.add(path);
    const { dependencies, optionalDependencies, peerDependencies, devDependencies } = manifestOf(folder);
    // A checkout takes from these what a published package has in its assets.
    const ofCheckout = folder === home && isCheckout(home) ? devDependencies : {};
    const named = { ...dependencies, ...optionalDependencies, ...peerDependencies, ...ofCheckout };
    for (const name of [...Object.keys(named), ...(folder === home ? UNNAMED_PACKAGES : [])]) {
      const real = realPackage(name, looked);
      if (real !== undefined) packages.add(real);
    }
  }
  packages.delete(home);
  return [...packages, ...found];
};

/** Where `bin/find-node` looks, at this start and at the next. */
const nodePaths = (home: string, env: Environment): readonly string[] => {
  const user = env["HOME"] ?? "/";
  // As in a shell, an empty variable counts as none.
  const named = (variable: string, usual: string): string => env[variable] || join(user, usual);
  return [
    process.execPath,
    ...(env["LLMC_NODE"] ? [resolve(env["LLMC_NODE"])] : []),
    ...(env["PATH"]?.split(delimiter) ?? []).map((folder) => resolve(folder, "node")),
    resolve(home, "../../../bin/node"),
    join(named("NVM_DIR", ".nvm"), "versions/node"),
    join(named("FNM_DIR", ".local/share/fnm"), "node-versions"),
    join(named("VOLTA_HOME", ".volta"), "tools/image/node"),
    join(user, ".local/share/mise/installs/node"),
    join(user, ".asdf/installs/nodejs"),
    "/usr/local/bin/node",
    "/opt/homebrew/bin/node",
    "/usr/bin/node",
  ];
};

/** Of paths that lie in one another, the outermost. */
const outermost = (paths: readonly string[]): readonly string[] => {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => other !== path && isInside(path, other)));
};

/** The files that the package in a folder (a real path) runs from. */
export const findProgramFiles = (home: string, env: Environment): readonly string[] => {
  const isPackage = basename(dirname(home)) === "node_modules";
  const cache = compileCacheFolder();
  return outermost([
    ...(isPackage ? [home] : RUN_FROM.map((name) => join(home, name))),
    ...findPackages(home),
    ...nodePaths(home, env),
    ...(cache === undefined ? [] : [cache]),
  ]);
};

let paths: readonly string[] | undefined;

/**
 * The files that this program runs from. A server loads parts of itself when they are needed, so whoever writes them
 * runs code in it.
 */
export const programFiles = (env: Environment): readonly string[] => {
  paths ??= findProgramFiles(realpathSync.native(resolve(import.meta.dirname, "../../..")), env);
  return paths;
};

/** Folders in a root that a program runs from, as seen from there: commands cannot change anything in them. */
export const programFoldersIn = (root: string, files: readonly string[]): readonly string[] => {
  const real = existsSync(root) ? realpathSync.native(root) : root;
  const isFolder = (path: string): boolean =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return files
    .filter((path) => path !== real && isInside(path, real) && isFolder(path))
    .map((path) => relative(real, path));
};
