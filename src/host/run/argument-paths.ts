import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { excludeNames } from "../../policy/command-exclusions.ts";
import { changedFolders } from "../../policy/command-git.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { entriesAt, judgeRead, readRefusal, writeDenied } from "../../policy/reach.ts";
import type { ReachId } from "../../policy/reach-table.ts";
import { entryAt } from "../git/follow-path.ts";
import { resolveLinks } from "../reach/path-rules.ts";
import type { Reach } from "../reach/reach.ts";
import {
  endsInside,
  kernelTarget,
  pathsReached,
  type ReachedPath,
  reachedPath,
} from "../reach/reached-path.ts";
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

/** Where a command can get besides the roots, and how strongly it is confined. */
export interface CommandView {
  readonly tier: Tier;
  /** Absolute folders that the operator opened to commands. */
  readonly readPaths: readonly string[];
}

/**
 * What a command can see. A sandbox shows the roots and what the operator opened; nothing else is looked at, or the answer
 * would tell what exists there.
 */
const viewOf = ({ rules }: Reach, { tier, readPaths }: CommandView) => {
  const tops = [
    ...rules.roots,
    ...rules.writtenRoots,
    ...readPaths.flatMap((path) => [path, resolveLinks(path)?.real ?? path]),
  ];
  return {
    shows: (path: string): boolean => tier === "plain" || insideRoots(path, tops),
    /** A root may be written with links above it. */
    leadsIn: (link: string): boolean => tops.some((top) => insideRoots(top, [link])),
  };
};

/** What an argument may mean, as far as the command can see. */
const meaningsInView = (
  { written, walks }: ReachedPath,
  { shows, leadsIn }: ReturnType<typeof viewOf>,
): readonly string[] => {
  const inView = walks.map(({ links, target }) => {
    const leaving = links.findIndex((link) => !shows(link) && !leadsIn(link));
    const stays = leaving < 0 && target !== undefined && shows(target);
    return { links: leaving < 0 ? links : links.slice(0, leaving), target: stays ? target : undefined };
  });
  // Behind a link that leads out, a name with the text of one inside is outside as well.
  const staysInside = inView.some(({ target }) => target !== undefined);
  return pathsReached({ written, walks: inView }).filter(
    (path) => shows(path) && (staysInside || path !== written),
  );
};

/**
 * A secret that is named outright, or through a link, is refused in every tier; the sandbox hides the others. Where there
 * is none, the server's own state is refused in the same way.
 */
export const refuseSecrets = (
  args: readonly string[],
  /** Folders that the program may start from. */
  folders: readonly string[],
  reach: Reach,
  command: CommandView,
): void => {
  const view = viewOf(reach, command);
  const what = command.tier === "plain" ? "content" : "content of a seen name";
  const closes = (path: string): ReachId | undefined => {
    const entry = entryAt(path);
    // What is not there is a pattern, a message or a branch, and nothing that could be read.
    if (entry === undefined) return undefined;
    const behind = entry.isSymbolicLink() ? resolveLinks(path) : undefined;
    const file = behind !== undefined && view.shows(behind.real) ? behind.stats : entry;
    return judgeRead(path, "commands", reach.reachRules, what, file);
  };
  for (const path of args.flatMap(pathsIn))
    for (const folder of folders)
      for (const meaning of meaningsInView(reachedPath(folder, path), view)) {
        const closed = closes(meaning);
        if (closed !== undefined) throw pathDenied(path, readRefusal(closed), reach.rules);
      }
};

/** Where `-C` takes git from a folder, one step after the other; undefined where a step cannot be followed. */
export const gitStart = (args: readonly string[], cwd: string): string | undefined =>
  changedFolders(args).reduce<string | undefined>(
    (from, step) => (from === undefined ? undefined : kernelTarget(reachedPath(from, step))),
    cwd,
  );

/** Git reads some of its arguments from where it was told to go, others from the top of the work tree. */
export const foldersGitReadsFrom = (
  args: readonly string[],
  cwd: string,
  { rules }: Reach,
): readonly string[] => {
  const folders = [cwd];
  for (
    let folder = gitStart(args, cwd) ?? "/";
    insideRoots(folder, rules.roots) && folder !== "/";
    folder = posix.dirname(folder)
  )
    folders.push(folder);
  return folders;
};

/** What an argument of git means; a path that is another one for git's own process (`/proc/self`) is refused. */
const meantByGit = (folder: string, argument: string): readonly string[] => {
  const meant = reachedPath(folder, argument);
  if (meant.walks.some(({ target }) => target === undefined))
    throw new LlmcError("forbidden", "An argument of git leads where it cannot be followed.", {
      hint: "Name files of the work tree, branches or commits.",
    });
  return pathsReached(meant);
};

/** Only git itself writes to git directories, so no argument may point into one. */
export const refuseGitDirectories = (
  args: readonly string[],
  folders: readonly string[],
  gitDirs: readonly string[],
): void => {
  for (const path of args.flatMap(pathsIn))
    for (const folder of folders) {
      // It or its parent folder may be a link into a git directory, even if the file does not exist yet.
      if (meantByGit(folder, path).some((one) => insideRoots(one, gitDirs)))
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
    for (const folder of folders)
      if (meantByGit(folder, path).some((one) => entriesAt(one, reachRules).includes("startup")))
        throw writeDenied(path, "startup");
};

export const refuseRecursive = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} may go through folders by itself, and would show withheld files.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Name files or a folder without withheld ones, or use rg or grep, which can be told to leave them out.",
  });

const refuseLinks = (program: string): LlmcError =>
  new LlmcError("forbidden", `${program} would follow links, behind which withheld files have other names.`, {
    hint: "No sandbox works on this machine (see `llmc doctor`). Use -r instead of -R.",
  });

/** Whether an argument may be a folder in which there are secrets, also through links. */
const isGivenFolderWith = (secrets: readonly string[], args: readonly string[], cwd: string): boolean =>
  args
    .flatMap(pathsIn)
    .flatMap((path) => pathsReached(reachedPath(cwd, path)))
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
    const meant = reachedPath(folder, value);
    const isInside = (path: string): boolean => insideRoots(path, [...rules.roots, ...readPaths]);
    // A name that leads nowhere may be a text; a path must end inside by its text and by its links.
    if ((isPath || isInside(meant.written)) && !endsInside(meant, isInside))
      throw pathDenied(value, "outside", rules);
  }
};
