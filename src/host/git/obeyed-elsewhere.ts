import { type Dirent, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { homedir } from "node:os";
import { posix } from "node:path";
import { insideRoots } from "../../policy/paths.ts";
import { GIT_NAME } from "../../policy/reach.ts";
import { type GitSetting, parseGitConfig } from "./config.ts";
import { isInclude, MAX_CONFIG_BYTES, readSmallFile, realOf } from "./files.ts";
import { commonDirOf, gitDirOf } from "./git-dir.ts";

/** Something that git obeys because of a git directory, although it, or its name, is outside of it. */
export interface ObeyedElsewhere {
  /** Hooks are programs of the project, which people edit; configuration is what git reads, whatever it is called. */
  readonly kind: "hooks" | "config";
  /** As git asks for it. */
  readonly name: string;
  /** Where that leads, or would lead once it is there. */
  readonly real: string;
}

const MAX_LINKS = 40;
const MAX_ENTRIES = 20_000;
const MAX_INCLUDED = 100;

/** These folders hold data that git stores and never obeys. */
const DATA: ReadonlySet<string> = new Set(["objects", "refs", "logs", "lfs"]);

const linkAt = (path: string): string | undefined => {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
};

/** Where a path leads, or would lead once something is there: links that lead to nothing are followed as well. */
export const resolveTarget = (path: string, linksLeft = MAX_LINKS): string => {
  const real = realOf(path);
  if (real !== undefined || path === "/" || linksLeft === 0) return real ?? path;
  const folder = resolveTarget(posix.dirname(path), linksLeft);
  const here = posix.join(folder, posix.basename(path));
  const target = linkAt(here);
  return target === undefined ? here : resolveTarget(posix.resolve(folder, target), linksLeft - 1);
};

const list = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
};

const isFolder = (path: string): boolean => {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
};

type Add = (kind: ObeyedElsewhere["kind"], name: string) => void;

/** Every link in a git directory, or in a folder of hooks, and those where it leads in turn. */
const addLinks = (top: string, first: ObeyedElsewhere["kind"], add: Add): void => {
  const folders = [{ folder: top, kind: first }];
  const seen = new Set([top]);
  let entries = 0;
  for (const { folder, kind } of folders)
    for (const entry of list(folder)) {
      if (++entries > MAX_ENTRIES) return;
      const path = posix.join(folder, entry.name);
      const inner = entry.name === "hooks" ? "hooks" : kind;
      if (entry.isSymbolicLink()) add(inner, path);
      const next = entry.isSymbolicLink() && inner === "hooks" ? resolveTarget(path) : path;
      const isData = inner === "config" && DATA.has(entry.name);
      if (isData || seen.has(next) || !isFolder(next)) continue;
      seen.add(next);
      folders.push({ folder: next, kind: inner });
    }
};

/** A value as git takes it for a path, from the folders that it may be relative to. */
const pathsIn = (value: string, folders: readonly string[]): readonly string[] => {
  const path = value.replace(/^:\(optional\)/, "").replace(/^~(?=\/|$)/, () => homedir());
  if (path === "" || path.includes("\0")) return [];
  return folders.map((folder) => posix.resolve(folder, path));
};

/** The settings of a file and of those that it includes, under whatever condition. */
const settingsWithIncluded = (file: string, add: Add, seen: Set<string>): readonly GitSetting[] => {
  if (seen.has(file) || seen.size > MAX_INCLUDED) return [];
  seen.add(file);
  // A file that is not valid UTF-8 may still contain paths that are.
  const text = readSmallFile(resolveTarget(file), MAX_CONFIG_BYTES)?.toString() ?? "";
  return (parseGitConfig(text) ?? []).flatMap((setting) => {
    if (!isInclude(setting)) return [setting];
    const folders = new Set([posix.dirname(file), posix.dirname(resolveTarget(file))]);
    return pathsIn(setting.value, [...folders]).flatMap((included) => {
      add("config", included);
      return settingsWithIncluded(included, add, seen);
    });
  });
};

const directoriesOf = (gitDir: string): readonly string[] => {
  try {
    return [...new Set([gitDir, commonDirOf(gitDir)])];
  } catch {
    return [gitDir];
  }
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
 * git would take for one; where it leads out of the roots, its settings count all the same.
 */
export const obeyedElsewhere = (entry: string): readonly ObeyedElsewhere[] => {
  const gitDir = gitDirOf(entry);
  if (gitDir === undefined) return [];
  const dirs = directoriesOf(gitDir);
  const found = new Map<string, ObeyedElsewhere>();
  const add: Add = (kind, name) => {
    const real = resolveTarget(name);
    // Hooks count inside as well: git writes there, and must not write those.
    if (kind === "hooks" || !insideRoots(real, dirs)) found.set(`${kind} ${name}`, { kind, name, real });
  };
  const seen = new Set<string>();
  const files = dirs.flatMap((dir) => ["config", "config.worktree"].map((name) => posix.join(dir, name)));
  const settings = files.flatMap((file) => settingsWithIncluded(file, add, seen));
  const valuesOf = (key: string, folders: readonly string[]): readonly string[] =>
    settings.filter((setting) => setting.key === key).flatMap(({ value }) => pathsIn(value, folders));
  const top = GIT_NAME.test(posix.basename(entry)) ? posix.dirname(entry) : gitDir;
  const hooks = valuesOf("core.hookspath", [top, ...valuesOf("core.worktree", dirs)]);
  for (const folder of hooks) {
    add("hooks", folder);
    addLinks(resolveTarget(folder), "hooks", add);
  }
  for (const dir of dirs) addLinks(dir, "config", add);
  return [...found.values()];
};
