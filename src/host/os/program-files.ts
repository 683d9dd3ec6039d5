import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** Everything in a package that a running server loads, or that starts it. */
const RUN_FROM = ["assets", "bin", "dist", "node_modules", "package.json", "schema", "scripts", "src"];

const findPaths = (): readonly string[] => {
  const home = realpathSync(resolve(import.meta.dirname, "../../.."));
  const parent = dirname(home);
  // Installed in a project, its packages lie beside it and are shared with the project's own.
  const shared = basename(parent) === "node_modules" ? [parent] : RUN_FROM.map((name) => join(home, name));
  return [...shared, process.execPath];
};

let paths: readonly string[] | undefined;

/**
 * The files that this program runs from. A server loads parts of itself when they are needed, so whoever writes them
 * runs code in it.
 */
export const programFiles = (): readonly string[] => {
  paths ??= findPaths();
  return paths;
};
