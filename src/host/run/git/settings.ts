import { readdirSync } from "node:fs";
import { posix } from "node:path";
import { quoteForMessage } from "../../../base/text.ts";
import { isHarmlessSetting, isOverridden, switchedOff } from "../../../policy/git-settings.ts";
import { refusedRepository, settingsOf } from "../../git/files.ts";
import { commonDirOf, gitDirOf } from "../../git/git-dir.ts";
import { type InnerDirectories, submodulesOf, workTreesOf } from "../../git/inner-directories.ts";
import { isThere } from "../../git/obeyed-files.ts";
import { alternatesOf, type GitRepository } from "./repository.ts";

/** Whether git may ask another git about a submodule. */
export const hasSubmodules = ({ top, commonDir }: GitRepository): boolean =>
  isThere(posix.join(top, ".gitmodules")) || isThere(posix.join(commonDir, "modules"));

/** The git directories that git may come across when it is run in a repository. */
export interface GitDirectories {
  /** Its own, and those of repositories inside it. */
  readonly folders: readonly string[];
  /** Those of its other work trees, which share its settings and may have more. */
  readonly workTrees: readonly string[];
  /** What git may be able to follow to another one, and we are not. */
  readonly unknown: readonly string[];
}

/** The git directory of a repository inside another one; git may be able to follow what we cannot. */
const innerDirectory = (entry: string): InnerDirectories => {
  try {
    const dir = gitDirOf(entry);
    return { found: dir === undefined ? [] : [dir], unknown: [] };
  } catch {
    return { found: [], unknown: [entry] };
  }
};

export const directoriesOf = (
  { gitDir, commonDir }: GitRepository,
  /** `.git` entries in its work tree: submodules that keep their git directory themselves. */
  nested: readonly string[],
): GitDirectories => {
  const inside = nested.map(innerDirectory);
  const dirs = [gitDir, commonDir, ...inside.flatMap(({ found }) => found)];
  const own = [...new Set([...dirs, ...dirs.map(commonDirOf)])];
  const modules = own.map(submodulesOf);
  const submodules = modules.flatMap(({ found }) => found);
  const folders = [...new Set([...own, ...submodules, ...submodules.map(commonDirOf)])];
  const workTrees = folders.map(workTreesOf);
  return {
    folders,
    workTrees: workTrees.flatMap(({ found }) => found),
    unknown: [...inside, ...modules, ...workTrees].flatMap(({ unknown }) => unknown),
  };
};

/** A state folder holds some databases and files of results. */
const MAX_SEARCHED = 20_000;

/** Whether a repository may lie somewhere in a folder: also where that has too much in it, or cannot be read. */
export const mayHoldGit = (top: string): boolean => {
  const folders = [top];
  let entries = 0;
  try {
    for (const folder of folders)
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.name === ".git" || ++entries > MAX_SEARCHED) return true;
        // Git enters no folder behind a link either.
        if (entry.isDirectory()) folders.push(posix.join(folder, entry.name));
      }
    return false;
  } catch {
    return true;
  }
};

export interface ProgramsOff {
  readonly settings: readonly (readonly [string, string])[];
  /** Why some git process might start a program that we cannot switch off; undefined if none can. */
  readonly doubt: string | undefined;
}

/** More than anybody has. Each is handed to git in its environment, and git compares each with all. */
const MAX_SWITCHED_OFF = 1000;

const UNREAD = "settings of one inside it cannot be read";
const SHORTEN = "The user can shorten its configuration, or run git by hand.";
const UNRESOLVED = "it is not clear where a .git inside it leads";

const doubtOf = (key: string): string => `its setting ${quoteForMessage(key)} is not known to be harmless`;

/**
 * Settings that win over the repository's own, so that its filters, drivers and aliases do not run, and whether these
 * and the fixed ones are enough. A setting counts only if it is known to start nothing, or if ours takes its place: what
 * a program of some later git is called, nobody knows (REQ-D24).
 */
export const programsOff = ({ folders, workTrees, unknown }: GitDirectories): ProgramsOff => {
  const known = [...folders, ...workTrees].map(settingsOf);
  // Git asks another git about these, without our settings.
  const borrowed = folders
    .flatMap((dir) => alternatesOf(posix.join(dir, "objects")))
    .map((store) => settingsOf(posix.dirname(store)));
  const all = known.flatMap((settings) => settings ?? []);
  const doubtful =
    all.find(({ key, value }) => !isOverridden(key) && !isHarmlessSetting(key, value)) ??
    borrowed.flatMap((settings) => settings ?? []).find(({ key, value }) => !isHarmlessSetting(key, value));
  const isUnread = [...known, ...borrowed].includes(undefined);
  const settings = [...new Set(all.map(({ key }) => key))].flatMap((key) => {
    const off = switchedOff(key);
    return off === undefined ? [] : [[key, off] as const];
  });
  if (settings.length > MAX_SWITCHED_OFF)
    throw refusedRepository(`more than ${MAX_SWITCHED_OFF} of its settings name programs`, SHORTEN);
  return {
    settings,
    doubt: isUnread
      ? UNREAD
      : unknown.length > 0
        ? UNRESOLVED
        : doubtful === undefined
          ? undefined
          : doubtOf(doubtful.key),
  };
};
