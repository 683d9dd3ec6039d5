import { existsSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../policy/paths.ts";
import { closedPaths } from "../../policy/reach.ts";
import { resolveLinks } from "../reach/path-rules.ts";
import type { Reach } from "../reach/reach.ts";

/** What the operator opened to commands besides the roots. */
export interface ReadPaths {
  /** Real paths, outside the roots: what lies inside them is readable anyway, and must not become read-only. */
  readonly folders: readonly string[];
  /** What is still kept from commands: the server's own folders, and names of the denylist at the top. */
  readonly hidden: readonly string[];
  readonly withheld: readonly string[];
}

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder).map((name) => posix.join(folder, name));
  } catch {
    return [];
  }
};

/** Asked before each command, since a tool chain may be installed at any time. Folders that do not exist are left out. */
export const openReadPaths = (
  paths: readonly string[],
  { rules, reachRules, hasWithheldName }: Reach,
): ReadPaths => {
  const closed = closedPaths("commands", reachRules);
  const real = paths.flatMap((path) => resolveLinks(path)?.real ?? []);
  const folders = [...new Set(real)].filter(
    (path) => !insideRoots(path, rules.roots) && !insideRoots(path, closed),
  );
  return {
    folders,
    hidden: closed.filter((path) => insideRoots(path, folders) && existsSync(path)),
    // Nothing further down is looked at, so a folder of such a name is closed with what is in it.
    withheld: folders.flatMap(namesIn).filter(hasWithheldName),
  };
};
