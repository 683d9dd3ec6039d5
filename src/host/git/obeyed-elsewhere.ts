import { homedir } from "node:os";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { GIT_NAME } from "../../policy/git-directory.ts";
import { insideRoots } from "../../policy/paths.ts";
import { type GitSetting, parseGitConfig } from "./config.ts";
import { isInclude, MAX_CONFIG_BYTES } from "./files.ts";
import { follow, pathFrom, resolveTarget } from "./follow-path.ts";
import { commonNameOf, gitDirOf, linkedNameOf } from "./git-dir.ts";
import { submodulesOf, workTreesOf } from "./inner-directories.ts";
import { listObeyed, MISSING, obeyedEntry, readObeyed, unfollowable } from "./obeyed-files.ts";

/** Something that git obeys because of a git directory, although it, or its name, is outside of it. */
export interface ObeyedElsewhere {
  /**
   * Hooks are programs of the project, which people edit; configuration is what git reads, whatever it is called. A link is
   * one on the way to them: it may not lead elsewhere, while what else lies where it leads is free.
   */
  readonly kind: "hooks" | "config" | "link";
  readonly name: string;
  /** Where that leads, or would lead once it is there. */
  readonly real: string;
}

/**
 * What may be read to find out what git obeys, of all repositories that are asked about at once: some tenths of a second of
 * the server's thread. What is beyond it could not be protected, so nothing is changed there.
 */
const LIMITS = { entries: 100_000, named: 1000, files: 1000, bytes: 1024 * 1024 };

/** To follow a link takes as long as to read so many entries. */
const ENTRIES_PER_LINK = 20;

/** Counts what is read; throws where it is too much. */
type Budget = (what: keyof typeof LIMITS, count: number, path: string) => void;

const createBudget = (): Budget => {
  const left = { ...LIMITS };
  return (what, count, path) => {
    left[what] -= count;
    if (left[what] >= 0) return;
    throw new LlmcError(
      "forbidden",
      `Nothing is changed here: the git directories in the roots hold more settings, links or hooks than can be checked (at ${quoteForMessage(path)}).`,
      {
        hint: "The operator can move that repository out of mcp.tools.allowed_roots; read it first: settings of that size are not usual.",
      },
    );
  };
};

/** These folders hold data that git stores and never obeys. */
const DATA: ReadonlySet<string> = new Set(["objects", "refs", "logs", "lfs"]);

const isFolder = (path: string): boolean => {
  const found = obeyedEntry(path);
  return found !== MISSING && found.isDirectory();
};

/** The search through a repository: the git directories that share one common directory, and all that they lead to. */
interface Search {
  readonly spend: Budget;
  /** All that is known by now, also of other repositories. */
  readonly found: Map<string, ObeyedElsewhere>;
  /** Real paths. */
  readonly dirs: Set<string>;
  /** Those of a file and of what it includes. */
  readonly settings: Map<string, readonly GitSetting[]>;
  /** Folders that were looked through for links. */
  readonly seen: Set<string>;
}

const set = ({ found }: Search, kind: ObeyedElsewhere["kind"], name: string, real: string): void =>
  void found.set(`${kind} ${name}`, { kind, name, real });

/** `asked`: a path as git asks for it. */
const add = (search: Search, kind: "hooks" | "config", asked: string): void => {
  const { target, links } = follow(asked);
  for (const name of links) set(search, "link", name, resolveTarget(name));
  // Hooks count inside as well: git writes there, and must not write those.
  if (kind === "hooks" || !insideRoots(target, [...search.dirs])) set(search, kind, target, target);
};

/** Every link in a git directory, or in a folder of hooks, and those where it leads in turn. */
const addLinks = (top: string, first: "hooks" | "config", search: Search): void => {
  const { spend, seen } = search;
  const folders = [{ folder: top, kind: first }];
  if (seen.has(`${first} ${top}`)) return;
  seen.add(`${first} ${top}`);
  for (const { folder, kind } of folders)
    for (const entry of listObeyed(folder)) {
      spend("entries", entry.isSymbolicLink() ? ENTRIES_PER_LINK : 1, folder);
      const path = posix.join(folder, entry.name);
      const inner = entry.name === "hooks" ? "hooks" : kind;
      if (entry.isSymbolicLink()) add(search, inner, path);
      const next = entry.isSymbolicLink() && inner === "hooks" ? resolveTarget(path) : path;
      const isData = inner === "config" && DATA.has(entry.name);
      if (isData || seen.has(`${inner} ${next}`)) continue;
      if (!entry.isDirectory() && (next === path || !isFolder(next))) continue;
      seen.add(`${inner} ${next}`);
      folders.push({ folder: next, kind: inner });
    }
};

/** A value as git takes it for a path, from the folders that it may be relative to. */
const pathsIn = (value: string, folders: readonly string[]): readonly string[] => {
  const path = value.replace(/^:\(optional\)/, "").replace(/^~(?=\/|$)/, () => homedir());
  // Versions of git read a tab as a tab or as a space.
  if (/^~[^/]|^%\(|\t/.test(path)) throw unfollowable(path);
  if (path === "") return [];
  return folders.map((folder) => pathFrom(folder, path));
};

/** The settings of a file and of those that it includes, under whatever condition. */
const settingsWithIncluded = (file: string, search: Search): readonly GitSetting[] => {
  const { spend } = search;
  const before = search.settings.get(file);
  if (before !== undefined) return before;
  // Files may include each other.
  search.settings.set(file, []);
  const real = resolveTarget(file);
  spend("files", 1, file);
  spend("bytes", sizeOf(real), file);
  const bytes = readObeyed(real, MAX_CONFIG_BYTES);
  const settings = bytes === MISSING ? [] : parseGitConfig(bytes.toString());
  // Git, or another reader, may find settings in it all the same.
  if (settings === undefined) throw unfollowable(file);
  const all = settings.flatMap((setting) => {
    if (!isInclude(setting)) return [setting];
    const folders = new Set([posix.dirname(file), posix.dirname(resolveTarget(file))]);
    return pathsIn(setting.value, [...folders]).flatMap((included) => {
      add(search, "config", included);
      return settingsWithIncluded(included, search);
    });
  });
  search.settings.set(file, all);
  return all;
};

const sizeOf = (path: string): number => {
  const found = obeyedEntry(path);
  return found !== MISSING && found.isFile() ? found.size : 0;
};

/** The path and every folder above it. */
export const upFrom = (path: string): readonly string[] => {
  const found = [path];
  for (let above = path; above !== "/" && above !== "."; found.push(above)) above = posix.dirname(above);
  return found;
};

/** A root may be a part of its user's repository, whose settings lead into it. */
export const repositoriesAbove = (roots: readonly string[]): readonly string[] =>
  [...new Set(roots.flatMap((root) => upFrom(posix.dirname(root))))].map((folder) =>
    posix.join(folder, ".git"),
  );

/** Settings are cheap to go through, but each git directory has those of the common one, too. */
const SETTINGS_PER_ENTRY = 20;

const ofCommon = (dir: string): string => {
  const common = commonNameOf(dir);
  return common === undefined ? dir : resolveTarget(common);
};

/** The folders of hooks of a git directory that belongs to a work tree. */
const addHooks = (dir: string, top: string, search: Search): void => {
  const dirs = [...new Set([dir, ofCommon(dir)])];
  const files = dirs.flatMap((one) => ["config", "config.worktree"].map((name) => posix.join(one, name)));
  const settings = files.flatMap((file) => settingsWithIncluded(file, search));
  search.spend("entries", Math.ceil(settings.length / SETTINGS_PER_ENTRY), dir);
  const pathsOf = (key: string, folders: readonly string[]): readonly string[] => {
    const values = new Set(settings.filter((setting) => setting.key === key).map(({ value }) => value));
    search.spend("named", values.size * folders.length, dir);
    return [...new Set([...values].flatMap((value) => pathsIn(value, folders)))];
  };
  for (const folder of pathsOf("core.hookspath", [top, ...pathsOf("core.worktree", dirs)])) {
    add(search, "hooks", folder);
    addLinks(resolveTarget(folder), "hooks", search);
  }
};

/** Directories that may have settings of their own, of which nothing in the roots needs to tell: the user may use them. */
const besideDirectory = (dir: string): readonly string[] => {
  const inner = [workTreesOf(dir), submodulesOf(dir)];
  const [unknown] = inner.flatMap((one) => one.unknown);
  if (unknown !== undefined) throw unfollowable(unknown);
  return [ofCommon(dir), ...inner.flatMap((one) => one.found)];
};

const addRepository = (gitDir: string, top: string, search: Search): void => {
  const { dirs, spend } = search;
  const fresh = new Set(dirs.has(gitDir) ? [] : [gitDir]);
  for (const dir of fresh) {
    spend("named", 1, dir);
    dirs.add(dir);
    for (const beside of besideDirectory(dir)) if (!dirs.has(beside)) fresh.add(beside);
  }
  for (const dir of fresh) {
    const common = commonNameOf(dir);
    if (common !== undefined) add(search, "config", common);
    // It needs no HEAD of its own, so nothing else would tell that git obeys it.
    const isInAnother = [...dirs].some((other) => other !== dir && insideRoots(dir, [other]));
    if (dir !== gitDir && !isInAnother) set(search, "config", dir, dir);
    const linked = linkedNameOf(dir);
    addHooks(dir, linked === undefined ? dir : posix.dirname(linked), search);
    addLinks(dir, "config", search);
  }
  addHooks(gitDir, top, search);
};

/**
 * Everything outside git directories that git obeys because of them: where links in them lead, the files that their
 * configuration includes, and the folders of hooks that it names; also of all work trees and submodules, wherever they are
 * checked out. An entry is a `.git` of any form, or a directory that git would take for one; where it leads out of the
 * roots, its settings count nevertheless.
 */
export const obeyedElsewhere = (entries: readonly string[]): readonly ObeyedElsewhere[] => {
  const spend = createBudget();
  const found = new Map<string, ObeyedElsewhere>();
  const searches = new Map<string, Search>();
  for (const entry of entries) {
    const gitDir = gitDirOf(entry);
    if (gitDir === undefined) continue;
    const key = ofCommon(gitDir);
    const known = searches.get(key);
    const search = known ?? { spend, found, dirs: new Set(), settings: new Map(), seen: new Set() };
    searches.set(key, search);
    const top = GIT_NAME.test(posix.basename(entry)) ? posix.dirname(entry) : gitDir;
    addRepository(gitDir, top, search);
  }
  return [...found.values()];
};
