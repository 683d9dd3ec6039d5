import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { isPlainConfig, parseGitConfig } from "../../git/config.ts";
import { MAX_CONFIG_BYTES, readText } from "../../git/files.ts";
import { commonDirOf, gitDirOf } from "../../git/git-dir.ts";

/** Longer than a command lives that somebody waits for: what is older is no work of one that still runs. */
export const SETTLED_MS = 60 * 60 * 1000;

interface Settings {
  /** Changes with the content. */
  readonly stamp: string;
  readonly changedMs: number;
  /** Those that start, include or redirect something; undefined if git might read the file otherwise than we do. */
  readonly powers: ReadonlySet<string> | undefined;
}

const readSettings = (path: string): Settings | undefined => {
  try {
    const { ino, size, ctimeNs, ctimeMs } = lstatSync(path, { bigint: true });
    const parsed = parseGitConfig(readText(path, MAX_CONFIG_BYTES) ?? "[");
    return {
      stamp: `${ino} ${size} ${ctimeNs}`,
      changedMs: Number(ctimeMs),
      powers:
        parsed &&
        new Set(parsed.filter((one) => !isPlainConfig([one])).map(({ key, value }) => `${key}=${value}`)),
    };
  } catch {
    return undefined;
  }
};

const gains = (before: Settings | undefined, after: Settings | undefined, startedMs: number): boolean => {
  if (after === undefined || after.stamp === before?.stamp || after.powers?.size === 0) return false;
  const isSettled = before !== undefined && before.changedMs < startedMs - SETTLED_MS;
  const known = isSettled ? before.powers : undefined;
  return (
    known === undefined || after.powers === undefined || [...after.powers].some((power) => !known.has(power))
  );
};

const filesOf = (entry: string): readonly string[] => {
  try {
    const gitDir = gitDirOf(entry);
    const folders = gitDir === undefined ? [] : [gitDir, commonDirOf(gitDir)];
    return folders.flatMap((folder) => ["config", "config.worktree"].map((name) => posix.join(folder, name)));
  } catch {
    // One that leads nowhere has no settings.
    return [];
  }
};

/**
 * Notes the settings of repositories before a command runs. No mount keeps it from a file that it opened elsewhere and
 * that another command then moved into a new repository; so whatever the settings gain while it runs is its work, or the
 * user's, and nobody can tell.
 */
export const watchSettings = (entries: readonly string[]): { readonly gained: () => readonly string[] } => {
  const startedMs = Date.now();
  const paths = new Set(entries.flatMap(filesOf));
  const before = new Map([...paths].map((path) => [path, readSettings(path)]));
  return {
    /** Files with settings that start, include or redirect something and were not there before. */
    gained: () =>
      [...before].filter(([path, then]) => gains(then, readSettings(path), startedMs)).map(([path]) => path),
  };
};
