import type { Stats } from "node:fs";
import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import { excludeNames, withoutIgnoreFiles } from "../../policy/command-exclusions.ts";
import { changedFolders } from "../../policy/command-git.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { entriesAt, judgeRead, readRefusal, writeDenied } from "../../policy/reach.ts";
import type { ReachId } from "../../policy/reach-table.ts";
import { entryAt } from "../git/follow-path.ts";
import { MISSING } from "../git/obeyed-files.ts";
import { costOfPath, type LookupBudget } from "../reach/lookup-budget.ts";
import { resolveLinks } from "../reach/path-rules.ts";
import type { Reach } from "../reach/reach.ts";
import {
  endsInside,
  kernelTarget,
  namesNothing,
  pathsReached,
  type ReachedPath,
  reachedPath,
} from "../reach/reached-path.ts";
import type { Tier } from "./tiers/contract.ts";

/**
 * What may be a value in an argument: all of it, what follows `=` (`--file=x`), or what is left of a bundle of short
 * options (`-nfx`), wherever the bundle may end.
 */
function* valuesIn(argument: string): Generator<string> {
  yield argument;
  if (argument.includes("=")) yield argument.slice(argument.indexOf("=") + 1);
  const [bundle = ""] = /^-[A-Za-z0-9]+/.exec(argument) ?? [];
  for (let at = 2; at <= bundle.length; at++) yield argument.slice(at);
}

const isPath = (value: string): boolean => value !== "" && !value.includes("\0");

/**
 * What may be a path in an argument: a value, or a file of a revision (`HEAD:x`). One after the other: of a long argument,
 * there are more than there is memory for.
 */
function* pathsIn(args: readonly string[]): Generator<string> {
  for (const argument of args) {
    for (const value of valuesIn(argument)) if (isPath(value)) yield value;
    const ofRevision = argument.includes(":") ? argument.slice(argument.indexOf(":") + 1) : "";
    if (isPath(ofRevision)) yield ofRevision;
  }
}

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
  const inView = walks.map(({ links, target, exists }) => {
    const leaving = links.findIndex((link) => !shows(link) && !leadsIn(link));
    const stays = leaving < 0 && target !== undefined && shows(target);
    const seen = leaving < 0 ? links : links.slice(0, leaving);
    return { links: seen, target: stays ? target : undefined, exists };
  });
  // Behind a link that leads out, a name with the text of one inside is outside as well.
  const staysInside = inView.some(({ target }) => target !== undefined);
  return pathsReached({ written, walks: inView }).filter(
    (path) => shows(path) && (staysInside || path !== written),
  );
};

/** What a link leads to, where the command can see it. */
const fileBehind = (
  link: string,
  { shows }: ReturnType<typeof viewOf>,
  lookups: LookupBudget,
): Stats | undefined => {
  const target = kernelTarget(reachedPath("/", link, lookups));
  if (target === undefined || !shows(target)) return undefined;
  lookups(costOfPath(target));
  const found = entryAt(target);
  return found === MISSING || found === "closed" || found.isSymbolicLink() ? undefined : found;
};

/** A path is compared with every rule, and each folder above it may be asked whether it is a git directory. */
const costOfJudging = (path: string): number => path.split("/").length * costOfPath(path);

/** The line may hold a glob that met it. */
const LEAVE_OUT =
  "Leave it out of the command, with a narrower pattern if one names it (src/*.ts, not src/*)";

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
  lookups: LookupBudget,
): void => {
  const view = viewOf(reach, command);
  const what = command.tier === "plain" ? "content" : "content of a seen name";
  const closes = (path: string): ReachId | undefined => {
    lookups(costOfPath(path));
    const entry = entryAt(path);
    if (entry === MISSING) return undefined;
    // Of what is closed to us, its name is known, and a command may open it.
    if (entry === "closed") return judgeRead(path, "commands", reach.reachRules, what, "file");
    const behind = entry.isSymbolicLink() ? fileBehind(path, view, lookups) : undefined;
    const file = behind ?? entry;
    lookups(costOfJudging(path));
    return judgeRead(path, "commands", reach.reachRules, what, file);
  };
  for (const path of pathsIn(args))
    for (const folder of folders) {
      const meant = reachedPath(folder, path, lookups);
      // What is not there is a pattern, a message or a branch, and nothing that could be read.
      if (namesNothing(meant)) continue;
      for (const meaning of meaningsInView(meant, view)) {
        const closed = closes(meaning);
        if (closed !== undefined)
          throw withHint(pathDenied(path, readRefusal(closed), reach.rules), LEAVE_OUT);
      }
    }
};

/** Where `-C` takes git from a folder, one step after the other; undefined where a step cannot be followed. */
export const gitStart = (args: readonly string[], cwd: string, lookups: LookupBudget): string | undefined =>
  changedFolders(args).reduce<string | undefined>(
    (from, step) => (from === undefined ? undefined : kernelTarget(reachedPath(from, step, lookups))),
    cwd,
  );

/** Git reads some of its arguments from where it was told to go, others from the top of the work tree. */
export const foldersGitReadsFrom = (
  args: readonly string[],
  cwd: string,
  { rules }: Reach,
  lookups: LookupBudget,
): readonly string[] => {
  const folders = [cwd];
  for (
    let folder = gitStart(args, cwd, lookups) ?? "/";
    insideRoots(folder, rules.roots) && folder !== "/";
    folder = posix.dirname(folder)
  )
    folders.push(folder);
  return folders;
};

/** What an argument of git means; a path that is another one for git's own process (`/proc/self`) is refused. */
const meantByGit = (folder: string, argument: string, lookups: LookupBudget): readonly string[] => {
  const meant = reachedPath(folder, argument, lookups);
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
  lookups: LookupBudget,
): void => {
  for (const path of pathsIn(args))
    for (const folder of folders) {
      // It or its parent folder may be a link into a git directory, even if the file does not exist yet.
      if (meantByGit(folder, path, lookups).some((one) => insideRoots(one, gitDirs)))
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
  lookups: LookupBudget,
): void => {
  for (const path of pathsIn(args))
    for (const folder of folders)
      if (meantByGit(folder, path, lookups).some((one) => entriesAt(one, reachRules).includes("startup")))
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
const isGivenFolderWith = (
  secrets: readonly string[],
  args: readonly string[],
  cwd: string,
  lookups: LookupBudget,
): boolean => {
  for (const path of pathsIn(args)) {
    const folders = pathsReached(reachedPath(cwd, path, lookups));
    if (secrets.some((secret) => insideRoots(secret, folders))) return true;
  }
  return false;
};

/** The plain tier hides nothing from a program; some can be told what to leave out. */
export const withoutNames = (
  program: string,
  [file, ...args]: readonly [string, ...string[]],
  {
    secrets,
    hidden,
    hasClosedIgnoreLink,
  }: {
    readonly secrets: readonly string[];
    readonly hidden: readonly string[];
    readonly hasClosedIgnoreLink: boolean;
  },
  cwd: string,
  lookups: LookupBudget,
): readonly [string, ...string[]] => {
  const names = [...new Set([...secrets, ...hidden].map((path) => posix.basename(path)))];
  const exclusion = excludeNames(program, args, names, isGivenFolderWith(secrets, args, cwd, lookups));
  if (exclusion.kind === "refused")
    throw exclusion.why === "links" ? refuseLinks(program) : refuseRecursive(program);
  return [file, ...(hasClosedIgnoreLink ? withoutIgnoreFiles(program, exclusion.args) : exclusion.args)];
};

/** On the plain tier, a path that is outside the roots, or leads there through links, is refused. */
export const refuseOutside = (
  args: readonly string[],
  folder: string,
  { rules }: Reach,
  readPaths: readonly string[],
  lookups: LookupBudget,
): void => {
  const isInside = (path: string): boolean => insideRoots(path, [...rules.roots, ...readPaths]);
  // An operand is one value, also with a `=` in it: make, for one, takes `PREFIX=/usr` for a setting.
  for (const argument of args)
    for (const value of argument.startsWith("-") ? valuesIn(argument) : [argument]) {
      const leads = value.startsWith("/") || value.split("/").includes("..");
      const meant = reachedPath(folder, value, lookups);
      // A name that leads nowhere may be a text; a path must end inside by its text and by its links.
      if ((leads || isInside(meant.written)) && !endsInside(meant, isInside))
        throw pathDenied(value, "outside", rules);
    }
};
