import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { isForeignSetting } from "../../../policy/git-settings.ts";
import { type GitSetting, isPlainConfig, parseGitConfig } from "../../git/config.ts";
import { MAX_CONFIG_BYTES, readText } from "../../git/files.ts";
import { commonDirOf, gitDirOf } from "../../git/git-dir.ts";
import { identify } from "../../reach/identity.ts";
import { isYoung, SETTLED_MS } from "./age.ts";
import { obeyedStamps } from "./own-changes.ts";

/** What other tools keep of a branch or a remote means nothing to git. */
const isHarmful = (setting: GitSetting): boolean =>
  !isPlainConfig([setting]) && !isForeignSetting(setting.key);

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

/** Identities of git directories that appeared while a managed process ran, made of whatever folder. */
export type MadeBeside = ReadonlySet<string>;

const doubtfulFolders = (entry: string, startedMs: number, madeBeside: MadeBeside): readonly string[] => {
  try {
    const gitDir = gitDirOf(entry);
    const folders = gitDir === undefined ? [] : [gitDir, commonDirOf(gitDir)];
    return folders.filter((folder) => isYoung(folder, startedMs) || madeBeside.has(identify(folder) ?? ""));
  } catch {
    // One that leads nowhere has no settings.
    return [];
  }
};

/** Something in a git directory that git would execute or follow, and that was not there before. */
export interface Gained {
  readonly path: string;
  /** Set for a configuration: what may stay. */
  readonly harmless?: readonly GitSetting[];
}

/** The folders of a plain repository: what another command brings in is one of these, or a file beside them. */
const IN_PLAIN_FOLDER = /^(?:objects|refs|logs|info|hooks|branches)\//;

const obeyedIn = (folder: string): ReadonlyMap<string, string> => {
  try {
    const found = obeyedStamps(folder);
    return new Map([...found].filter(([path]) => IN_PLAIN_FOLDER.test(posix.relative(folder, path))));
  } catch {
    // It cannot be looked through: whatever can be found later counts as new.
    return new Map();
  }
};

/**
 * Notes what git obeys in young repositories before a command runs. No mount keeps it from a file or a folder that it
 * opened elsewhere and that another command then moved into a repository which was new to that one; so what the
 * repository gains meanwhile is its work, or the user's, and nobody can tell.
 */
export const noteObeyed = (entries: readonly string[], madeBeside: MadeBeside): (() => readonly Gained[]) => {
  const startedMs = Date.now();
  const folders = [...new Set(entries.flatMap((entry) => doubtfulFolders(entry, startedMs, madeBeside)))];
  const configs = folders.flatMap((folder) =>
    ["config", "config.worktree"].map((name) => posix.join(folder, name)),
  );
  const before = new Map(configs.map((path) => [path, readSettings(path)]));
  const obeyed = new Map(folders.map((folder) => [folder, obeyedIn(folder)]));
  const gainedSettings = (): readonly Gained[] =>
    [...before].flatMap(([path, then]) => {
      const now = readSettings(path);
      if (now === undefined || !gains(then, now, startedMs)) return [];
      return [{ path, harmless: (now.settings ?? []).filter((setting) => !isHarmful(setting)) }];
    });
  const gainedFiles = (): readonly Gained[] =>
    [...obeyed].flatMap(([folder, then]) =>
      [...obeyedIn(folder)].filter(([path, stamp]) => then.get(path) !== stamp).map(([path]) => ({ path })),
    );
  return () => [...gainedSettings(), ...gainedFiles()];
};
