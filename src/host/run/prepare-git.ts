import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { gitShowsSecrets } from "../../policy/command-exclusions.ts";
import {
  changedFolders,
  changesWorkTrees,
  subcommandOf,
  writesNamedPaths,
  writesTrackedContent,
} from "../../policy/command-git.ts";
import type { judgeCommand } from "../../policy/commands.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { knownGitDirOf } from "../git/git-dir.ts";
import { repositoriesAbove } from "../git/obeyed-elsewhere.ts";
import type { LookupBudget } from "../reach/lookup-budget.ts";
import type { Reach } from "../reach/reach.ts";
import {
  foldersGitReadsFrom,
  gitStart,
  refuseGitDirectories,
  refuseRecursive,
  refuseStartupFiles,
} from "./argument-paths.ts";
import { NO_GIT_DIR } from "./contract.ts";
import { refuseConfiguredFiles } from "./git/configured-paths.ts";
import { refuseUnfiltered } from "./git/filters.ts";
import { leftOutNotes, ownSettings } from "./git/left-out.ts";
import { refuseBorrowedFiles } from "./git/links.ts";
import { refusePipes } from "./git/pipes.ts";
import { refusePlannedPrograms } from "./git/plans.ts";
import { checkRepository, findRepository, type GitRepository, unseenWorkTrees } from "./git/repository.ts";
import { directoriesOf, hasSubmodules, mayHoldGit, type ProgramsOff, programsOff } from "./git/settings.ts";
import type { TrackedSecrets } from "./git/tracked.ts";
import { systemSettings, userSettings } from "./git/user-settings.ts";
import type { ProfileRequest } from "./sandbox-profile.ts";
import type { Finding } from "./scan/workspace-scan.ts";
import type { CommandRequest, Tier } from "./tiers/contract.ts";

const refuseDoubtful = (doubt: string): LlmcError =>
  new LlmcError(
    "forbidden",
    `git is not run in this repository: ${doubt}, and git would start other programs.`,
    {
      hint: 'The user can remove it, or the operator can let git run any program: "git:run" in mcp.tools.command_powers.',
    },
  );

/** Mounts keep git from what belongs to work trees outside the roots; without them, it changes none. */
const refuseUnseenWorkTrees = (
  subcommand: string,
  repository: GitRepository,
  roots: readonly string[],
): void => {
  const [first] = unseenWorkTrees(repository, roots);
  if (first === undefined) return;
  throw new LlmcError(
    "forbidden",
    `git ${subcommand} could change the work tree ${quoteForMessage(posix.basename(first))} of this repository, which lies outside the allowed roots, and nothing but the bubblewrap sandbox keeps it from that.`,
    { hint: "The user has to do it by hand, or install bubblewrap: see `llmc doctor`." },
  );
};

/** Where git looks for its repository, by real paths; what leaves the roots is refused in every tier. */
const resolveGitStart = ({ args, cwd, reach: { rules }, lookups }: GitCall): string => {
  const folder = gitStart(args, cwd, lookups);
  if (folder === undefined || !insideRoots(folder, rules.roots))
    throw pathDenied(changedFolders(args).join(" -C "), "outside", rules);
  return folder;
};

/** They make a repository, or find one of their own. */
const MAKES_REPOSITORY: ReadonlySet<string> = new Set(["init", "clone", "submodule"]);

/** Git uses the repository that was checked, or none: it must not discover another one. */
const NO_REPOSITORY = { gitDir: NO_GIT_DIR, top: undefined };

/** What git's own message does not tell: the roots may be a part of a repository. */
const aboveNotes = (roots: readonly string[]): readonly string[] => {
  const entry = repositoriesAbove(roots).find((path) => knownGitDirOf(path) !== undefined);
  if (entry === undefined) return [];
  return [
    `git uses no repository above the workspace: this one lies in ${posix.dirname(entry)} (start llmc with --root there, or add that folder to mcp.tools.allowed_roots)`,
  ];
};

export type Allowed = Extract<ReturnType<typeof judgeCommand>, { readonly allowed: true }>;
type Git = NonNullable<Allowed["git"]>;

/** One approved command, before it has a sandbox. */
export interface ProfileCall {
  readonly writes: boolean;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly tier: Tier;
  readonly reach: Reach;
  readonly lookups: LookupBudget;
  /** The user's folder for git, where it is not the usual one. */
  readonly gitFolder: string | undefined;
}

type GitCall = Pick<ProfileCall, "args" | "cwd" | "reach" | "lookups">;

export interface Scanned {
  readonly found: readonly Finding[];
  readonly secrets: readonly string[];
}

/** The folder that git starts from, and the repository that it finds there. `-C` moves git before it looks for one. */
export const locateRepository = (call: GitCall) => {
  const { reach } = call;
  const folder = resolveGitStart(call);
  const repository = findRepository(folder, reach.rules.roots);
  if (repository !== undefined) {
    checkRepository(repository, [...reach.rules.roots, ...reach.gitDirectories]);
    refusePipes(repository, folder);
  }
  return { folder, repository };
};

const refuseShownSecrets = (
  args: readonly string[],
  { folder, repository }: ReturnType<typeof locateRepository>,
  { found, secrets }: Scanned,
  { unmodified, changed }: TrackedSecrets,
): void => {
  const hasState = found.some(({ kind }) => kind === "state");
  const untracked = hasState || secrets.length > unmodified.size + changed.size;
  // By its text alone, as git decides it.
  const isInWorkTree = (argument: string): boolean =>
    repository !== undefined && insideRoots(posix.resolve(folder, argument), [repository.top]);
  if (gitShowsSecrets(args, { untracked, changed: changed.size > 0 }, isInWorkTree))
    throw refuseRecursive("git");
};

/** For git that may run programs: the user's filters (LFS), which are no part of what the sandbox has of their settings. */
const userFilters = (repository: GitRepository, gitFolder: string | undefined): ProgramsOff["settings"] => {
  const own = new Set(ownSettings(repository).map(({ key }) => key));
  return [...systemSettings(), ...userSettings(gitFolder)]
    .filter(({ key }) => key.startsWith("filter.") && !own.has(key))
    .map(({ key, value }) => [key, value] as const);
};

/** Refuses a repository in which git would read files, or run programs, that nobody approved; returns its settings. */
const checkSettings = (
  { mayRun, forks }: Git,
  { args, cwd, tier, reach, gitFolder, lookups }: ProfileCall,
  { folder, repository }: ReturnType<typeof locateRepository>,
  found: readonly Finding[],
): ProgramsOff => {
  if (repository === undefined) return { settings: [], doubt: undefined };
  const inside = found.filter(({ path }) => insideRoots(path, [repository.top]));
  const nested = inside.filter(({ kind }) => kind === "git").map(({ path }) => path);
  // Git looks for a submodule's repository behind this name alone; a bare one is nobody's submodule.
  const isEntry = (path: string): boolean => posix.basename(path) === ".git";
  const directories = directoriesOf(repository, nested.filter(isEntry));
  const folders = [...directories.folders, ...nested.filter((path) => !isEntry(path))];
  if (tier === "plain") refuseConfiguredFiles(folders, [repository.top, folder], reach, lookups);
  refuseBorrowedFiles(folders, reach);
  if (mayRun) return { settings: userFilters(repository, gitFolder), doubt: undefined };
  const readsFrom = foldersGitReadsFrom(args, cwd, reach, lookups);
  refuseGitDirectories(args, readsFrom, [...folders, ...nested], lookups);
  // Only a sub-command that starts others goes on with a plan.
  if (forks) refusePlannedPrograms(repository);
  // A sandbox hides the state folder, which is not scanned.
  const isUnseen = ({ kind, path }: Finding): boolean =>
    kind === "closed" || kind === "unknown" || (kind === "state" && tier === "plain" && mayHoldGit(path));
  const unseen = inside.filter(isUnseen).map(({ path }) => path);
  return programsOff({ ...directories, unknown: [...directories.unknown, ...unseen] });
};

/** What the sandbox has to know about git, and git about its repository. */
interface GitPreparation {
  readonly request: Pick<ProfileRequest, "git" | "noFork">;
  readonly settings: ProgramsOff["settings"];
  readonly repository: NonNullable<CommandRequest["git"]>["repository"];
  readonly notes: readonly string[];
}

export const NOTHING_TRACKED: TrackedSecrets = { unmodified: new Set(), changed: new Set() };

export const NOT_GIT: GitPreparation = {
  request: { git: undefined, noFork: false },
  settings: [],
  repository: undefined,
  notes: [],
};

export const prepareGit = (
  git: Git,
  call: ProfileCall,
  located: ReturnType<typeof locateRepository>,
  scanned: Scanned,
  tracked: TrackedSecrets,
): GitPreparation => {
  const { args, cwd, tier, reach, writes, lookups } = call;
  const { repository } = located;
  if (tier === "plain") refuseShownSecrets(args, located, scanned, tracked);
  if (writes && writesNamedPaths(args))
    refuseStartupFiles(args, foldersGitReadsFrom(args, cwd, reach, lookups), reach, lookups);
  if (writes && tier !== "bubblewrap" && repository !== undefined && changesWorkTrees(args))
    refuseUnseenWorkTrees(subcommandOf(args) ?? "", repository, reach.rules.roots);
  const { settings, doubt } = checkSettings(git, call, located, scanned.found);
  // Where a program might be left that we could not switch off, git may start none at all.
  if (doubt !== undefined && (git.forks || tier === "plain")) throw refuseDoubtful(doubt);
  const startsOthers = git.forks || (repository !== undefined && hasSubmodules(repository));
  return {
    request: {
      git: { repository, unmodified: tracked.unmodified, writesTracked: writesTrackedContent(args) },
      noFork: !startsOthers || doubt !== undefined,
    },
    settings,
    repository: MAKES_REPOSITORY.has(subcommandOf(args) ?? "") ? undefined : (repository ?? NO_REPOSITORY),
    notes:
      repository === undefined
        ? aboveNotes(reach.rules.roots)
        : git.mayRun
          ? []
          : [
              ...refuseUnfiltered(args, repository, located.folder, call.gitFolder),
              ...leftOutNotes(args, repository, reach.rules.roots, call.gitFolder),
            ],
  };
};
