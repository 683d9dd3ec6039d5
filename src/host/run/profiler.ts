import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { gitShowsSecrets } from "../../policy/command-exclusions.ts";
import { changedFolders, subcommandOf, writesNamedPaths, writesOnlyKept } from "../../policy/command-git.ts";
import type { judgeCommand } from "../../policy/commands.ts";
import { withoutCollected } from "../../policy/git-collected-paths.ts";
import { withoutHeldPaths } from "../../policy/git-held-paths.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { exists } from "../git/files.ts";
import { resolveLinks } from "../reach/path-rules.ts";
import type { CallerReach, Reach } from "../reach/reach.ts";
import {
  foldersGitReadsFrom,
  refuseGitDirectories,
  refuseRecursive,
  refuseStartupFiles,
} from "./argument-paths.ts";
import type { JudgedCommand } from "./contract.ts";
import { refuseConfiguredFiles } from "./git/configured-paths.ts";
import { watchSettings } from "./git/gained-settings.ts";
import { refuseBorrowedFiles } from "./git/links.ts";
import { createOwnRun } from "./git/own-run.ts";
import { refusePlannedPrograms } from "./git/plans.ts";
import { checkRepository, findRepository, type GitRepository } from "./git/repository.ts";
import { directoriesOf, hasSubmodules, mayHoldGit, type ProgramsOff, programsOff } from "./git/settings.ts";
import { createTrackedFinder, type TrackedSecrets } from "./git/tracked.ts";
import { noteIndexes } from "./git/user-checkouts.ts";
import { heldPaths, withheldPaths } from "./held-paths.ts";
import { openReadPaths } from "./read-paths.ts";
import { buildProfile, type ProfileRequest } from "./sandbox-profile.ts";
import { dropGained, quarantineInRoots, quarantineNewFindings, restoreInRoots } from "./scan/new-findings.ts";
import { obeyedFiles, obeyedNamesOf } from "./scan/obeyed-names.ts";
import { createOtherNames } from "./scan/other-names.ts";
import { createWorkspaceScan, type Finding, findingOf } from "./scan/workspace-scan.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";

interface ProfilerOptions {
  readonly reach: CallerReach;
  readonly settings: () => {
    readonly network: boolean;
    readonly limits: CommandLimits;
    readonly readPaths: readonly string[];
  };
}

const refuseDoubtful = (doubt: string): LlmcError =>
  new LlmcError(
    "forbidden",
    `git is not run in this repository: ${doubt}, and git would start other programs.`,
    {
      hint: 'The user can remove it, or the operator can let git run any program: "git:run" in mcp.tools.command_powers.',
    },
  );

/** Where git looks for its repository, by real paths; what leaves the roots is refused in every tier. */
const resolveGitStart = (cwd: string, steps: readonly string[], { rules }: Reach): string => {
  const folder = steps.reduce((from, step) => {
    const next = posix.resolve(from, step);
    return resolveLinks(next)?.real ?? next;
  }, cwd);
  if (!insideRoots(folder, rules.roots)) throw pathDenied(steps.join(" -C "), "outside", rules);
  return folder;
};

/** They make a repository, or find one of their own. */
const MAKES_REPOSITORY: ReadonlySet<string> = new Set(["init", "clone", "submodule"]);

/** Git uses the repository that was checked, or none: it must not discover another one. Git shows this name. */
const NO_REPOSITORY = { gitDir: "/dev/null/no-repository-here", top: undefined };

type Allowed = Extract<ReturnType<typeof judgeCommand>, { readonly allowed: true }>;
type Git = NonNullable<Allowed["git"]>;

interface Prepared extends Pick<JudgedCommand, "quarantineNew" | "isLlmcWrite" | "ownRepository"> {
  readonly profile: SandboxProfile;
  readonly secrets: readonly string[];
  /** The arguments of the program, without what git could not change. */
  readonly argv: readonly [string, ...string[]];
  readonly gitSettings: readonly (readonly [string, string])[];
  readonly repository: NonNullable<CommandRequest["git"]>["repository"];
  /** Folders of tool chains that the operator opened. */
  readonly toolChains: readonly string[];
}

/** One approved command, before it has a sandbox. */
interface ProfileCall {
  readonly writes: boolean;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly tier: Tier;
  readonly reach: Reach;
}

interface Scanned {
  readonly found: readonly Finding[];
  readonly secrets: readonly string[];
}

/** The folder that git starts from, and the repository that it finds there. `-C` moves git before it looks for one. */
const locateRepository = ({ args, cwd, reach }: ProfileCall) => {
  const folder = resolveGitStart(cwd, changedFolders(args), reach);
  const repository = findRepository(folder, reach.rules.roots);
  if (repository !== undefined) checkRepository(repository, reach.rules.roots);
  return { folder, repository };
};

const refuseShownSecrets = (
  args: readonly string[],
  secrets: readonly string[],
  { kept, changed }: TrackedSecrets,
): void => {
  const untracked = secrets.length > kept.size + changed.size;
  if (gitShowsSecrets(args, { untracked, changed: changed.size > 0 })) throw refuseRecursive("git");
};

/** Refuses a repository in which git would read files, or run programs, that nobody approved; returns its settings. */
const checkSettings = (
  { mayRun, forks }: Git,
  { args, cwd, tier, reach }: ProfileCall,
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
  if (tier === "plain") refuseConfiguredFiles(folders, [repository.top, folder], reach);
  refuseBorrowedFiles(folders, reach);
  if (mayRun) return { settings: [], doubt: undefined };
  refuseGitDirectories(args, foldersGitReadsFrom(args, cwd, reach), [...folders, ...nested]);
  // Only a sub-command that starts others goes on with a plan.
  if (forks) refusePlannedPrograms(repository);
  // A sandbox hides the state folder, which is not scanned.
  const isUnseen = ({ kind, path }: Finding): boolean =>
    kind === "closed" || kind === "unknown" || (kind === "state" && tier === "plain" && mayHoldGit(path));
  const unseen = inside.filter(isUnseen).map(({ path }) => path);
  return programsOff({ ...directories, unknown: [...directories.unknown, ...unseen] });
};

/** What the sandbox has to know about git, and git about its repository. */
interface GitRun {
  readonly request: Pick<ProfileRequest, "git" | "noFork">;
  readonly settings: ProgramsOff["settings"];
  readonly repository: Prepared["repository"];
}

const NOTHING_TRACKED: TrackedSecrets = { kept: new Set(), changed: new Set() };

const NOT_GIT: GitRun = {
  request: { git: undefined, noFork: false },
  settings: [],
  repository: undefined,
};

const prepareGit = (
  git: Git,
  call: ProfileCall,
  located: ReturnType<typeof locateRepository>,
  { found, secrets }: Scanned,
  tracked: TrackedSecrets,
): GitRun => {
  const { args, cwd, tier, reach, writes } = call;
  const { repository } = located;
  if (tier === "plain") refuseShownSecrets(args, secrets, tracked);
  if (writes && writesNamedPaths(args))
    refuseStartupFiles(args, foldersGitReadsFrom(args, cwd, reach), reach);
  const { settings, doubt } = checkSettings(git, call, located, found);
  // Where a program might be left that we could not switch off, git may start none at all.
  if (doubt !== undefined && (git.forks || tier === "plain")) throw refuseDoubtful(doubt);
  const startsOthers = git.forks || (repository !== undefined && hasSubmodules(repository));
  return {
    request: {
      git: { repository, kept: tracked.kept, writesStartup: writesOnlyKept(args) },
      noFork: !startsOthers || doubt !== undefined,
    },
    settings,
    repository: MAKES_REPOSITORY.has(subcommandOf(args) ?? "") ? undefined : (repository ?? NO_REPOSITORY),
  };
};

/** One check after the other: if one fails, the others are still made. */
const runEach = async <T>(checks: readonly (() => Promise<readonly T[]>)[]): Promise<readonly T[]> => {
  const found: T[] = [];
  let failure: { readonly thrown: unknown } | undefined;
  for (const check of checks)
    try {
      found.push(...(await check()));
    } catch (thrown) {
      failure ??= { thrown };
    }
  if (failure !== undefined) throw failure.thrown;
  return found;
};

/** Builds the sandbox profile of an approved command from the current content of the roots. */
export const createProfiler = (options: ProfilerOptions) => {
  const { reach: source } = options;
  const scan = createWorkspaceScan(source);
  const otherNames = createOtherNames();
  const otherObeyedNames = createOtherNames();
  const findTracked = createTrackedFinder();

  const scanRoots = async (roots: readonly string[]): Promise<Scanned> => {
    const scanned = await scan.current();
    const named = scanned.filter(({ kind }) => kind === "secret").map(({ path }) => path);
    const others = await otherNames(named, roots);
    const secrets = [...named, ...others];
    source.withheldFiles?.see(secrets);
    return { found: [...scanned, ...others.map((path) => findingOf("secret", path))], secrets };
  };

  return async (
    { argv: judgedArgv, writes, git }: Allowed,
    args: readonly string[],
    cwd: string,
    tier: Tier,
  ): Promise<Prepared> => {
    const { network, limits, readPaths } = options.settings();
    const reach = source.current();
    const { roots, privateDirs } = reach.rules;
    const call: ProfileCall = { writes, args, cwd, tier, reach };
    const located = git === undefined ? undefined : locateRepository(call);
    const scanned = await scanRoots(roots);
    const { found, secrets } = scanned;
    const tracked = git === undefined ? NOTHING_TRACKED : findTracked(secrets, roots);
    const { request, settings, repository } =
      git === undefined || located === undefined ? NOT_GIT : prepareGit(git, call, located, scanned, tracked);
    const obeyedNames = writes ? obeyedNamesOf(found, roots) : [];
    const writesStartup = request.git?.writesStartup === true;
    const guarded = writesStartup ? found.filter(({ kind }) => kind !== "startup") : found;
    const obeyed = writes ? obeyedFiles(guarded, obeyedNames, reach.reachRules.obeyedPaths.config) : [];
    const otherObeyed = await otherObeyedNames(obeyed, roots);
    const opened = openReadPaths(readPaths, reach);
    const profile = buildProfile(
      { ...request, cwd, writes, network, limits, guardsNames: tier !== "landlock", readPaths: opened },
      reach,
      found,
      [...obeyedNames, ...otherObeyed.map((path) => ({ kind: "config", name: path, real: path }) as const)],
    );
    const own = located?.repository;
    const [program, ...judgedArgs] = judgedArgv;
    const argsOf = (own: GitRepository): readonly string[] => {
      const args = withoutHeldPaths(judgedArgs, () => heldPaths(own, profile, roots, findTracked));
      if (tier !== "plain") return args;
      return withoutCollected(args, () => withheldPaths(own, [...secrets, ...profile.hidden], tracked));
    };
    const argv: Prepared["argv"] = [program, ...(own === undefined ? judgedArgs : argsOf(own))];
    const prepared = {
      profile,
      argv,
      secrets,
      gitSettings: settings,
      repository,
      toolChains: opened.folders,
    };
    if (!writes) return prepared;
    const findMounts = () => ({
      readOnly: tier === "bubblewrap" ? profile.protectedInside.filter(exists) : [],
      writable: profile.writableAgain ?? [],
    });
    const ownRun =
      own &&
      createOwnRun(own, findMounts, {
        quarantine: (path) => quarantineInRoots(path, roots),
        restore: (path, kept) => restoreInRoots(path, kept, roots),
      });
    const gitFindings = found.filter(({ kind, isLink }) => kind === "git" && !isLink);
    const repositories = gitFindings.map(({ path }) => path);
    const gained = watchSettings(repositories);
    const wasCheckedOut = noteIndexes(repositories, roots, findTracked);
    const quarantineNew: JudgedCommand["quarantineNew"] = (phase, lostMounts) =>
      runEach([
        async () => (phase === "running" ? [] : ((await ownRun?.undo(lostMounts)) ?? [])),
        async () => (phase === "running" ? [] : dropGained(gained(), roots)),
        () =>
          quarantineNewFindings({
            scan,
            before: found.filter(({ path }) => !insideRoots(path, lostMounts)),
            obeyedNames,
            roots,
            own: privateDirs,
            ownWrites: source.ownWrites,
            wasCheckedOut: (files) => wasCheckedOut(files, lostMounts),
            writesStartup,
            phase,
          }),
      ]);
    const isLlmcWrite = (path: string) => source.ownWrites?.has(path) === true;
    return { ...prepared, quarantineNew, isLlmcWrite, ownRepository: ownRun?.own };
  };
};
