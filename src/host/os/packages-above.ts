import { existsSync } from "node:fs";
import { posix } from "node:path";

/**
 * The folder of packages that Node would find above a workspace, as package managers make it for a monorepo; commands do
 * not see it. Undefined where there is none, or the workspace is no package.
 */
export const packagesAbove = (root: string): string | undefined => {
  if (!existsSync(posix.join(root, "package.json"))) return undefined;
  for (let folder = posix.dirname(root); folder !== "/"; folder = posix.dirname(folder)) {
    const packages = posix.join(folder, "node_modules");
    if (existsSync(packages) && existsSync(posix.join(folder, "package.json"))) return packages;
  }
  return undefined;
};
