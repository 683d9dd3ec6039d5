import { realpathSync, type Stats, statSync } from "node:fs";
import { posix } from "node:path";
import { isBelowOneOf } from "../../base/paths.ts";
import { type PathRules, STATE_DIR } from "../../policy/paths.ts";
import type { GrantedPath } from "../../policy/permit.ts";
import { realOrFuture } from "../own-files/real-or-future.ts";

/** The target of a path; undefined if it does not exist. */
export const resolveLinks = (path: string): { readonly real: string; readonly stats: Stats } | undefined => {
  try {
    const real = realpathSync.native(path);
    return { real, stats: statSync(real) };
  } catch {
    return undefined;
  }
};

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

/** The configuration can change at any time: rebuilds the value when the items of the list have changed. */
export const cacheByList = <T>(
  list: () => readonly string[],
  build: (items: readonly string[]) => T,
): (() => T) => {
  let cached: { readonly items: readonly string[]; readonly built: T } | undefined;
  return () => {
    const items = list();
    if (cached === undefined || !isSameList(items, cached.items)) {
      cached = { items: [...items], built: build(items) };
    }
    return cached.built;
  };
};

/** The path rules, and where llmc keeps what is its own; `userDirs` are the user's folders as they are written. */
export interface PlacedRules {
  readonly rules: PathRules;
  /** The configured roots alone, real and as they are written. */
  readonly ownRoots: readonly string[];
  readonly stateDirs: readonly string[];
  readonly userDirs: readonly string[];
}

export const createPathRules = (
  workspace: string,
  roots: () => readonly string[],
  userDirs: () => readonly string[] = () => [],
  granted: readonly GrantedPath[] = [],
): (() => PlacedRules) => {
  const writtenWorkspace = posix.resolve(workspace);
  const realWorkspace = realOrFuture(writtenWorkspace);
  const stateDir = posix.join(realWorkspace, STATE_DIR);
  return cacheByList(roots, (items) => {
    const all = items.map((root) => posix.resolve(writtenWorkspace, root));
    // Whoever may write a root can replace its content with a link, so a root inside another adds nothing.
    const withoutNested = (paths: readonly string[]): readonly string[] => {
      const known = new Set(paths);
      return paths.filter((path) => !isBelowOneOf(path, known));
    };
    const roots = withoutNested(withoutNested(all).map(realOrFuture));
    // Nested roots add nothing to what can be read, but they still count as roots when something is moved or removed.
    const writtenRoots = [...new Set([...all, ...all.map(realOrFuture)])];
    return {
      rules: {
        workspace: realWorkspace,
        // What was granted is not resolved again: it is what was decided on.
        roots: [...roots, ...granted.map(({ realPath }) => realPath)],
        writtenRoots: [...writtenRoots, ...granted.flatMap(({ path, realPath }) => [path, realPath])],
      },
      ownRoots: [...roots, ...writtenRoots],
      // Itself, and where it leads if the operator made it a link.
      stateDirs: [stateDir, realOrFuture(stateDir)],
      userDirs: userDirs().flatMap((path) => [path, realOrFuture(path)]),
    };
  });
};
