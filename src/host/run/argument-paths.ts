import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { excludeNames } from "../../policy/command-exclusions.ts";
import { changedFolders } from "../../policy/command-git.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { entriesAt, judgeRead, readRefusal, writeDenied } from "../../policy/reach.ts";
import { resolveTarget } from "../git/follow-path.ts";
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
  { rules, reachRules }: Reach,
  tier: Tier,
): void => {
  const what = tier === "plain" ? "content" : "content of a seen name";
  for (const path of args.flatMap(pathsIn))
    for (const named of new Set(folders.map((folder) => posix.resolve(folder, path)))) {
      const found = resolveLinks(named);
      // What is not there is a pattern, a message or a branch, and nothing that could be read.
      if (found === undefined) continue;
      for (const one of [named, found.real]) {
        const closed = judgeRead(one, "commands", reachRules, what, found.stats);
        if (closed !== undefined) throw pathDenied(path, readRefusal(closed), rules);
      }
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

/** Git's own `/proc/self` is not ours. */
const targetOf = (path: string): string => {
  try {
    return resolveTarget(path);
  } catch {
    throw new LlmcError("forbidden", "An argument of git leads where it cannot be followed.", {
      hint: "Name files of the work tree, branches or commits.",
    });
  }
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
      const real = targetOf(named);
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
      const isStartup = [named, targetOf(named)].some((one) =>
        entriesAt(one, reachRules).includes("startup"),
      );
      if (isStartup) throw writeDenied(path, "startup");
    }
};

export const refuseRecursive = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} may go through folders by itself, and would show withheld files.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Name files or a folder without withheld ones, or use rg or grep, which can be told to leave them out.",
  });

const refuseLinks = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} would follow links, behind which withheld files have other names.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Use -r instead of -R.",
  });

/** Where the kernel finds a path; what cannot be followed is outside. */
const targetFrom = (folder: string, value: string): string => {
  try {
    return resolveTarget(value.startsWith("/") ? value : `${folder}/${value}`);
  } catch {
    return "/";
  }
};

/** Whether an argument may be a folder in which there are secrets, also through links. */
const isGivenFolderWith = (secrets: readonly string[], args: readonly string[], cwd: string): boolean =>
  args
    .flatMap(pathsIn)
    .flatMap((path) => [posix.resolve(cwd, path), targetFrom(cwd, path)])
    .some((folder) => secrets.some((secret) => insideRoots(secret, [folder])));

/** The plain tier hides nothing from a program; some can be told what to leave out. */
export const withoutNames = (
  program: string,
  [file, ...args]: readonly [string, ...string[]],
  { secrets, hidden }: { readonly secrets: readonly string[]; readonly hidden: readonly string[] },
  cwd: string,
): readonly [string, ...string[]] => {
  const names = [...new Set([...secrets, ...hidden].map((path) => posix.basename(path)))];
  const exclusion = excludeNames(program, args, names, isGivenFolderWith(secrets, args, cwd));
  if (exclusion.kind === "refused")
    throw exclusion.why === "links" ? refuseLinks(program) : refuseRecursive(program);
  return [file, ...exclusion.args];
};

/** On the plain tier, a path that is outside the roots, or leads there through links, is refused. */
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
    const named = posix.resolve(folder, value);
    const isInside = (path: string): boolean => insideRoots(path, [...rules.roots, ...readPaths]);
    if (isPath && !isInside(named)) throw pathDenied(value, "outside", rules);
    if (isInside(named) && !isInside(targetFrom(folder, value))) throw pathDenied(value, "outside", rules);
  }
};
