import { posix } from "node:path";
import { changedFolders } from "../../policy/command-git.ts";
import { withoutCollected, withoutUnasked } from "../../policy/git-collected-paths.ts";
import { withoutHeldPaths } from "../../policy/git-held-paths.ts";
import { type HeldTarget, heldTarget } from "../../policy/git-held-targets.ts";
import { insideRoots } from "../../policy/paths.ts";
import type { CallerReach, Reach } from "../reach/reach.ts";
import { type AfterRun, planAfterRun } from "./after-run.ts";
import type { GitRepository } from "./git/repository.ts";
import { createTrackedFinder, type TrackedSecrets } from "./git/tracked.ts";
import { heldPaths, unknownConfig, withheldPaths } from "./held-paths.ts";
import {
  type Allowed,
  locateRepository,
  NOT_GIT,
  NOTHING_TRACKED,
  type ProfileCall,
  prepareGit,
  type Scanned,
} from "./prepare-git.ts";
import { openReadPaths } from "./read-paths.ts";
import { buildProfile } from "./sandbox-profile.ts";
import { linkedObeyedFiles, type ObeyedName, obeyedNamesOf } from "./scan/obeyed-names.ts";
import { createOtherNames } from "./scan/other-names.ts";
import { createScans, type Finding, findingOf, type WorkspaceScan } from "./scan/workspace-scan.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";
import type { ManagedWriters } from "./turns/managed-writers.ts";

interface ProfilerOptions {
  readonly gitFolder?: string | undefined;
  readonly reach: CallerReach;
  readonly managed: ManagedWriters;
  readonly settings: () => {
    readonly network: boolean;
    readonly limits: CommandLimits;
    readonly readPaths: readonly string[];
  };
}

export interface Prepared {
  readonly profile: SandboxProfile;
  readonly secrets: readonly string[];
  /** The arguments of the program, without what git could not change. */
  readonly argv: readonly [string, ...string[]];
  readonly gitSettings: readonly (readonly [string, string])[];
  readonly repository: NonNullable<CommandRequest["git"]>["repository"];
  /** Folders of tool chains that the operator opened. */
  readonly toolChains: readonly string[];
  /** Notes what is there now. Nothing where the command can write nothing. */
  planAfterRun(): AfterRun;
  readonly notes: readonly string[];
  /** What git is to be asked before it runs. */
  readonly heldTarget: HeldTarget | undefined;
}

/** Finds secrets and what is obeyed, under all their names. */
const createFinders = (source: CallerReach) => {
  const otherSecretNames = createOtherNames();
  const otherObeyedNames = createOtherNames();
  return {
    scanRoots: async (scan: WorkspaceScan, roots: readonly string[]): Promise<Scanned> => {
      const scanned = await scan.current();
      const named = scanned.filter(({ kind }) => kind === "secret").map(({ path }) => path);
      const others = await otherSecretNames(named, roots);
      const secrets = [...named, ...others];
      source.withheldFiles?.see(secrets);
      return { found: [...scanned, ...others.map((path) => findingOf("secret", path))], secrets };
    },
    /** Further hard links of obeyed files: through them, the files could be written. */
    findHardLinks: async (
      found: readonly Finding[],
      obeyedNames: readonly ObeyedName[],
      { rules, reachRules }: Reach,
    ): Promise<readonly ObeyedName[]> => {
      const linked = linkedObeyedFiles(found, obeyedNames, reachRules.obeyedPaths.config);
      source.obeyedFiles?.see(linked);
      const others = await otherObeyedNames(linked, rules.roots);
      // Read-only for git, too: those that are called start-up files are open to a checkout.
      return others.map((path) => ({ kind: "config", name: path, real: path }));
    },
  };
};

const LEFT_OUT =
  "llmc.toml was left out, because it holds permissions of this machine; git add llmc.toml adds it";

interface ChangedArgs {
  readonly args: readonly string[];
  readonly notes: readonly string[];
}

/** The arguments without what git could not change, and, without a sandbox, without what nobody may read. */
const changeableArgs = (
  args: readonly string[],
  repository: GitRepository | undefined,
  { tier, reach, cwd }: ProfileCall,
  profile: SandboxProfile,
  secrets: readonly string[],
  tracked: TrackedSecrets,
  findTracked: ReturnType<typeof createTrackedFinder>,
): ChangedArgs => {
  if (repository === undefined) return { args, notes: [] };
  const changeable = withoutHeldPaths(args, () =>
    heldPaths(repository, profile, reach.rules.roots, findTracked),
  );
  const from = changedFolders(args).reduce((folder, step) => posix.resolve(folder, step), cwd);
  const asked = withoutUnasked(
    changeable,
    () => unknownConfig(repository, reach, findTracked),
    (path, name) => insideRoots(posix.join(repository.top, name), [posix.resolve(from, path)]),
  );
  return {
    args:
      tier === "plain"
        ? withoutCollected(asked, () => withheldPaths(repository, [...secrets, ...profile.hidden], tracked))
        : asked,
    notes: asked.length > changeable.length ? [LEFT_OUT] : [],
  };
};

/** Builds the sandbox profile of an approved command from the current content of the roots. */
export const createProfiler = (options: ProfilerOptions) => {
  const { reach: source } = options;
  const scans = createScans(source);
  const { scanRoots, findHardLinks } = createFinders(source);
  const findTracked = createTrackedFinder();

  return async (
    { argv: [program, ...judgedArgs], writes, git }: Allowed,
    args: readonly string[],
    cwd: string,
    tier: Tier,
  ): Promise<Prepared> => {
    const { network, limits, readPaths } = options.settings();
    const { reach, scan } = scans.now();
    const { roots, privateDirs } = reach.rules;
    const call: ProfileCall = { writes, args, cwd, tier, reach, gitFolder: options.gitFolder };
    const located = git === undefined ? undefined : locateRepository(call);
    const scanned = await scanRoots(scan, roots);
    const { found, secrets } = scanned;
    const tracked = git === undefined ? NOTHING_TRACKED : findTracked(secrets, roots);
    const { request, settings, repository, notes } =
      git === undefined || located === undefined ? NOT_GIT : prepareGit(git, call, located, scanned, tracked);

    const writesTracked = request.git?.writesTracked === true;
    const obeyedNames = writes ? obeyedNamesOf(found, roots) : [];
    const guarded = writesTracked ? found.filter(({ kind }) => kind !== "startup") : found;
    const hardLinks = writes ? await findHardLinks(guarded, obeyedNames, reach) : [];
    const opened = openReadPaths(readPaths, reach);
    const profile = buildProfile(
      { ...request, cwd, writes, network, limits, guardsNames: tier !== "landlock", readPaths: opened },
      reach,
      found,
      [...obeyedNames, ...hardLinks],
    );
    const own = located?.repository;
    const changeable = changeableArgs(judgedArgs, own, call, profile, secrets, tracked, findTracked);
    return {
      profile,
      argv: [program, ...changeable.args],
      secrets,
      gitSettings: settings,
      repository,
      toolChains: opened.folders,
      notes: [...notes, ...changeable.notes],
      heldTarget:
        own === undefined || !writes
          ? undefined
          : heldTarget(judgedArgs, () => heldPaths(own, profile, roots, findTracked)),
      planAfterRun: () =>
        writes
          ? planAfterRun({
              scan,
              source,
              tier,
              profile,
              found,
              obeyedNames,
              roots,
              stateFolders: privateDirs,
              writesTracked,
              isGit: git !== undefined,
              managed: options.managed,
              repository: own,
              findTracked,
            })
          : {},
    };
  };
};
