import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { excludeNames } from "../../policy/command-exclusions.ts";
import { changedFolders } from "../../policy/command-git.ts";
import { insideRoots, isPrivate, pathDenied } from "../../policy/paths.ts";
import { entriesAt, writeDenied } from "../../policy/reach.ts";
import { resolveTarget } from "../git/obeyed-elsewhere.ts";
import { resolveLinks } from "../reach/path-rules.ts";
import type { Reach } from "../reach/reach.ts";
import type { Tier } from "./tiers/contract.ts";

/**
 * What may be a value in an argument: all of it, what follows `=` (`--file=x`), or what is left of a bundle of short
 * options (`-nfx`), wherever the bundle may end.
 */
const valuesIn = (argument: string): readonly string[] => {
  const [bundle = ""] = /^-[A-Za-z0-9]+/.exec(argument) ?? [];
  return [
    argument,
    ...(argument.includes("=") ? [argument.slice(argument.indexOf("=") + 1)] : []),
    ...Array.from(bundle.slice(1), (_flag, at) => argument.slice(at + 2)),
  ];
};

/** What may be a path in an argument: a value, or a file of a revision (`HEAD:x`). */
const pathsIn = (argument: string): readonly string[] =>
  [
    ...valuesIn(argument),
    ...(argument.includes(":") ? [argument.slice(argument.indexOf(":") + 1)] : []),
  ].filter((path) => path !== "" && !path.includes("\0"));

/**
 * A secret that is named outright, or through a link, is refused in every tier; the sandbox hides the others. Where there
 * is none, the server's own state is refused in the same way.
 */
export const refuseSecrets = (
  args: readonly string[],
  /** Folders that the program may start from. */
  folders: readonly string[],
  { rules, isWithheld }: Reach,
  tier: Tier,
): void => {
  for (const path of args.flatMap(pathsIn))
    for (const named of new Set(folders.map((folder) => posix.resolve(folder, path)))) {
      const found = resolveLinks(named);
      // What is not there is a pattern, a message or a branch, and nothing that could be read.
      if (found === undefined) continue;
      if ([named, found.real].some((one) => isWithheld(one, found.stats)))
        throw pathDenied(path, "denylist", rules);
      if (tier === "plain" && [named, found.real].some((one) => isPrivate(one, rules)))
        throw pathDenied(path, "private", rules);
    }
};

/** Git reads some of its arguments from where it was told to go, others from the top of the work tree. */
export const foldersGitReadsFrom = (
  args: readonly string[],
  cwd: string,
  { rules }: Reach,
): readonly string[] => {
  const target = changedFolders(args).reduce((from, step) => posix.resolve(from, step), cwd);
  const folders = [cwd];
  for (
    let folder = target;
    insideRoots(folder, rules.roots) && folder !== "/";
    folder = posix.dirname(folder)
  )
    folders.push(folder);
  return folders;
};

/** Only git itself writes to git directories, so no argument may point into one. */
export const refuseGitDirectories = (
  args: readonly string[],
  folders: readonly string[],
  gitDirs: readonly string[],
): void => {
  for (const path of args.flatMap(pathsIn))
    for (const folder of folders) {
      const named = posix.resolve(folder, path);
      // It or its parent folder may be a link into a git directory, even if the file does not exist yet.
      const real = resolveTarget(named);
      if (insideRoots(named, gitDirs) || insideRoots(real, gitDirs))
        throw new LlmcError("forbidden", "An argument of git leads into a git directory.", {
          hint: "Name files of the work tree, branches or commits.",
        });
    }
};

/** What git writes where an argument says is the caller's choice, as the writes of other commands are. */
export const refuseStartupFiles = (
  args: readonly string[],
  folders: readonly string[],
  { reachRules }: Reach,
): void => {
  for (const path of args.flatMap(pathsIn))
    for (const folder of folders) {
      const named = posix.resolve(folder, path);
      const isStartup = [named, resolveTarget(named)].some((one) =>
        entriesAt(one, reachRules).includes("startup"),
      );
      if (isStartup) throw writeDenied(path, "startup");
    }
};

export const refuseRecursive = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} goes through folders by itself, and would show withheld files.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Use rg or grep, which can be told to leave them out.",
  });

/** The plain tier hides nothing from a program; some can be told what to leave out. */
export const withoutNames = (
  program: string,
  [file, ...args]: readonly [string, ...string[]],
  secrets: readonly string[],
): readonly [string, ...string[]] => {
  const names = [...new Set(secrets.map((path) => posix.basename(path)))];
  const exclusion = excludeNames(program, args, names);
  if (exclusion.kind === "refused") throw refuseRecursive(program);
  return [file, ...exclusion.args];
};

/**
 * On the plain tier, a path that is lexically outside the roots is refused; a link inside the roots may still lead
 * outside.
 */
export const refuseOutside = (
  args: readonly string[],
  folder: string,
  { rules }: Reach,
  readPaths: readonly string[],
): void => {
  // An operand is one value, also with a `=` in it: make, for one, takes `PREFIX=/usr` for a setting.
  for (const value of args.flatMap((argument) =>
    argument.startsWith("-") ? valuesIn(argument) : argument,
  )) {
    const isPath = value.startsWith("/") || value.split("/").includes("..");
    if (isPath && !insideRoots(posix.resolve(folder, value), [...rules.roots, ...readPaths]))
      throw pathDenied(value, "outside", rules);
  }
};
