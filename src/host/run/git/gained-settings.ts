import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { isHarmlessSetting } from "../../../policy/git-settings.ts";
import { type GitSetting, parseGitConfig } from "../../git/config.ts";
import { isInclude, MAX_CONFIG_BYTES, readText } from "../../git/files.ts";
import { commonDirOf, gitDirOf } from "../../git/git-dir.ts";

/** Longer than a command lives that somebody waits for: what is older was not written by a command that still runs. */
export const SETTLED_MS = 60 * 60 * 1000;

/** Longer than a process lives that was started to run on: the repositories that it could write are younger. */
const YOUNG_MS = 24 * SETTLED_MS;

const isHarmful = (setting: GitSetting): boolean =>
  isInclude(setting) || !isHarmlessSetting(setting.key, setting.value);

const textOf = ({ key, value }: GitSetting): string => `${key}=${value}`;

interface Settings {
  /** Changes with the content. */
  readonly stamp: string;
  readonly changedMs: number;
  /** Undefined if git might read the file otherwise than we do. */
  readonly settings: readonly GitSetting[] | undefined;
}

const readSettings = (path: string): Settings | undefined => {
  try {
    const { ino, size, ctimeNs, ctimeMs } = lstatSync(path, { bigint: true });
    const settings = parseGitConfig(readText(path, MAX_CONFIG_BYTES) ?? "[");
    return { stamp: `${ino} ${size} ${ctimeNs}`, changedMs: Number(ctimeMs), settings };
  } catch {
    return undefined;
  }
};

const gains = (before: Settings | undefined, after: Settings, startedMs: number): boolean => {
  if (after.stamp === before?.stamp) return false;
  if (after.settings === undefined) return true;
  const isSettled = before !== undefined && before.changedMs < startedMs - SETTLED_MS;
  const known = new Set(isSettled ? before.settings?.map(textOf) : []);
  return after.settings.some((setting) => isHarmful(setting) && !known.has(textOf(setting)));
};

export const isYoung = (folder: string, startedMs: number): boolean =>
  (lstatSync(folder, { throwIfNoEntry: false })?.birthtimeMs ?? 0) > startedMs - YOUNG_MS;

const filesOf = (entry: string, startedMs: number): readonly string[] => {
  try {
    const gitDir = gitDirOf(entry);
    const folders = gitDir === undefined ? [] : [gitDir, commonDirOf(gitDir)];
    return folders
      .filter((folder) => isYoung(folder, startedMs))
      .flatMap((folder) => ["config", "config.worktree"].map((name) => posix.join(folder, name)));
  } catch {
    // One that leads nowhere has no settings.
    return [];
  }
};

/** A configuration to which something was added that git would execute or follow. */
export interface GainedSettings {
  readonly path: string;
  readonly harmless: readonly GitSetting[];
}

/**
 * Notes the settings of young repositories before a command runs. No mount keeps it from a file that it opened elsewhere
 * and that another command then moved into a repository which was new to that one; so what the settings gain meanwhile
 * is its work, or the user's, and nobody can tell.
 */
export const noteSettings = (entries: readonly string[]): (() => readonly GainedSettings[]) => {
  const startedMs = Date.now();
  const paths = new Set(entries.flatMap((entry) => filesOf(entry, startedMs)));
  const before = new Map([...paths].map((path) => [path, readSettings(path)]));
  return () =>
    [...before].flatMap(([path, then]) => {
      const now = readSettings(path);
      if (now === undefined || !gains(then, now, startedMs)) return [];
      return [{ path, harmless: (now.settings ?? []).filter((setting) => !isHarmful(setting)) }];
    });
};
