import { posix } from "node:path";
import { quoteForMessage } from "../../../base/text.ts";
import { insideRoots } from "../../../policy/paths.ts";
import { isPlainKey, readingsOf } from "../../git/config.ts";
import { isInclude, refusedRepository, settingsByFile } from "../../git/files.ts";
import { MISSING, obeyedRealPath } from "../../git/obeyed-files.ts";
import type { LookupBudget } from "../../reach/lookup-budget.ts";
import { resolveLinks } from "../../reach/path-rules.ts";
import type { Reach } from "../../reach/reach.ts";
import { pathsReached, type ReachedPath, reachedPath } from "../../reach/reached-path.ts";

/** Where its configuration says that the work tree or attributes lie. */
export const configuredFolders = (dir: string): readonly string[] => {
  const paths: string[] = [];
  for (const { name, settings } of settingsByFile(dir)) {
    for (const setting of settings) {
      if (isInclude(setting)) throw refusedRepository(`its ${name} includes another file`);
      if (!/^core\.(worktree|attributesfile)$/.test(setting.key) || setting.value === "") continue;
      for (const value of readingsOf(setting.value))
        paths.push(posix.resolve(dir, value.replace(/^~(?=\/|$)/, "/~")));
    }
  }
  return paths;
};

/** Addresses, programs, which are switched off or judged as such, and certificates: git shows nothing of what they name. */
const NOT_READ =
  /(^|\.)(url|pushurl|insteadof|pushinsteadof|program|editor|pager|helper|sshcommand|askpass|cmd|command|fsmonitor|hookspath|clean|smudge|process|textconv|driver|sslcainfo|sslcapath)$/;

/**
 * The paths that a value stands for, relative to each folder that git may start from; empty for paths below the home
 * folder, which is empty in the sandbox.
 */
const meanings = (
  value: string,
  folders: readonly string[],
  lookups: LookupBudget,
): readonly ReachedPath[] => {
  const path = value.replace(/^:\(optional\)/, "").replace(/^%\(prefix\)\//, "/usr/");
  if (path === "" || path.includes("\0") || /^~(\/|$)/.test(path)) return [];
  return readingsOf(path).flatMap((reading) =>
    folders.map((folder) => reachedPath(folder, reading, lookups)),
  );
};

/**
 * Git shows lines of files that it is told to read and does not understand. There are dozens of settings that name such
 * a file, and more with every version: so every value is treated as a path, unless its key is known not to name one.
 */
export const refuseConfiguredFiles = (
  dirs: readonly string[],
  startingPoints: readonly string[],
  { rules, isWithheld }: Reach,
  lookups: LookupBudget,
): void => {
  for (const dir of dirs) {
    // `modules` may be a link.
    const real = obeyedRealPath(dir);
    const start = real === MISSING ? dir : real;
    for (const { key, value } of settingsByFile(dir).flatMap(({ settings }) => settings)) {
      const why = `its setting ${quoteForMessage(key)} names a file that is withheld or outside the allowed roots`;
      // The home of another user, which only git's own expansion knows.
      if (/^(:\(optional\))?~[^/\s]+\//.test(value) && !isPlainKey(key)) throw refusedRepository(why);
      // Git resolves only this one relative to the git directory, because it is read before the work tree is known.
      const folders = key === "core.worktree" ? [start] : [start, ...startingPoints];
      for (const path of meanings(value, folders, lookups).flatMap(pathsReached)) {
        const found = resolveLinks(path);
        if (found === undefined) continue;
        const isOutside = !insideRoots(found.real, rules.roots) && !isPlainKey(key) && !NOT_READ.test(key);
        if (isOutside || isWithheld(path, found.stats)) throw refusedRepository(why);
      }
    }
  }
};
