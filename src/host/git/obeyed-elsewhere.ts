import { homedir } from "node:os";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { GIT_NAME } from "../../policy/git-directory.ts";
import { insideRoots } from "../../policy/paths.ts";
import { type GitSetting, parseGitConfig } from "./config.ts";
import { isInclude, MAX_CONFIG_BYTES } from "./files.ts";
import { follow, pathFrom, resolveTarget } from "./follow-path.ts";
import { commonNameOf, gitDirOf } from "./git-dir.ts";
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
const LIMITS = { entries: 100_000, named: 250, files: 1000, bytes: 1024 * 1024 };

/** To follow a link takes as long as to read so many entries. */
const ENTRIES_PER_LINK = 20;

/** Counts what is read; throws where it is too much. */
export type ObeyedBudget = (what: keyof typeof LIMITS, count: number, path: string) => void;

export const createObeyedBudget = (): ObeyedBudget => {
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

/** One search through a git directory and everything that it leads to. */
interface Search {
  /** `asked`: a path as git asks for it. */
  add(kind: "hooks" | "config", asked: string): void;
  readonly spend: ObeyedBudget;
  /** Files and folders that were read. */
  readonly seen: Set<string>;
}

/** Every link in a git directory, or in a folder of hooks, and those where it leads in turn. */
const addLinks = (top: string, first: "hooks" | "config", { add, spend, seen }: Search): void => {
  const folders = [{ folder: top, kind: first }];
  if (seen.has(`${first} ${top}`)) return;
  seen.add(`${first} ${top}`);
  for (const { folder, kind } of folders)
    for (const entry of listObeyed(folder)) {
      spend("entries", entry.isSymbolicLink() ? ENTRIES_PER_LINK : 1, folder);
      const path = posix.join(folder, entry.name);
      const inner = entry.name === "hooks" ? "hooks" : kind;
      if (entry.isSymbolicLink()) add(inner, path);
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
  const { add, spend, seen } = search;
  if (seen.has(file)) return [];
  seen.add(file);
  const real = resolveTarget(file);
  spend("files", 1, file);
  spend("bytes", sizeOf(real), file);
  const bytes = readObeyed(real, MAX_CONFIG_BYTES);
  const settings = bytes === MISSING ? [] : parseGitConfig(bytes.toString());
  // Git, or another reader, may find settings in it all the same.
  if (settings === undefined) throw unfollowable(file);
  return settings.flatMap((setting) => {
    if (!isInclude(setting)) return [setting];
    const folders = new Set([posix.dirname(file), posix.dirname(resolveTarget(file))]);
    return pathsIn(setting.value, [...folders]).flatMap((included) => {
      add("config", included);
      return settingsWithIncluded(included, search);
    });
  });
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

/**
 * Everything outside a git directory that git obeys because of it: where links in it lead, the files that its
 * configuration includes, and the folders of hooks that it names. `entry` is a `.git` of any form, or a directory that
 * git would take for one; where it leads out of the roots, its settings count nevertheless.
 */
export const obeyedElsewhere = (
  entry: string,
  spend: ObeyedBudget = createObeyedBudget(),
): readonly ObeyedElsewhere[] => {
  const gitDir = gitDirOf(entry);
  if (gitDir === undefined) return [];
  const common = commonNameOf(gitDir);
  const dirs = [...new Set([gitDir, common === undefined ? gitDir : resolveTarget(common)])];
  const found = new Map<string, ObeyedElsewhere>();
  const set = (kind: ObeyedElsewhere["kind"], name: string, real: string): void =>
    void found.set(`${kind} ${name}`, { kind, name, real });
  const add: Search["add"] = (kind, asked) => {
    const { target, links } = follow(asked);
    for (const name of links) set("link", name, resolveTarget(name));
    // Hooks count inside as well: git writes there, and must not write those.
    if (kind === "hooks" || !insideRoots(target, dirs)) set(kind, target, target);
  };
  if (common !== undefined) add("config", common);
  // It needs no HEAD of its own, so nothing else would tell that git obeys it.
  for (const dir of dirs) if (dir !== gitDir) set("config", dir, dir);
  const search: Search = { add, spend, seen: new Set() };
  const files = dirs.flatMap((dir) => ["config", "config.worktree"].map((name) => posix.join(dir, name)));
  const settings = files.flatMap((file) => settingsWithIncluded(file, search));
  const pathsOf = (key: string, folders: readonly string[]): readonly string[] => {
    const values = new Set(settings.filter((setting) => setting.key === key).map(({ value }) => value));
    spend("named", values.size * folders.length, gitDir);
    return [...new Set([...values].flatMap((value) => pathsIn(value, folders)))];
  };
  const top = GIT_NAME.test(posix.basename(entry)) ? posix.dirname(entry) : gitDir;
  for (const folder of pathsOf("core.hookspath", [top, ...pathsOf("core.worktree", dirs)])) {
    add("hooks", folder);
    addLinks(resolveTarget(folder), "hooks", search);
  }
  for (const dir of dirs) addLinks(dir, "config", search);
  return [...found.values()];
};
