import { posix } from "node:path";
import { mayChangeWorkTree } from "../../policy/command-git.ts";
import { withoutCollected, withoutRefusedNames, withoutUnasked } from "../../policy/git-collected-paths.ts";
import { withoutHeldPaths } from "../../policy/git-held-paths.ts";
import { type HeldTarget, heldTarget } from "../../policy/git-held-targets.ts";
import { insideRoots } from "../../policy/paths.ts";
import { closedPaths } from "../../policy/reach.ts";
import type { LookupBudget } from "../reach/lookup-budget.ts";
import type { CallerReach, Reach } from "../reach/reach.ts";
import { type AfterRun, planAfterRun } from "./after-run.ts";
import { gitStart } from "./argument-paths.ts";
import type { GitRepository } from "./git/repository.ts";
import { createTrackedFinder, type TrackedSecrets } from "./git/tracked.ts";
import { createHeldContents } from "./held-contents.ts";
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
import {
  type Finding,
  findingOf,
  obeyedBesideOf,
  type Scans,
  secretsIn,
  type WorkspaceScan,
} from "./scan/workspace-scan.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";
import type { ManagedWriters } from "./write-locks/managed-writers.ts";

interface ProfilerOptions {
  readonly gitFolder?: string | undefined;
  readonly reach: CallerReach;
  readonly scans: Scans;
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
export const createFinders = (source: CallerReach) => {
  const otherSecretNames = createOtherNames();
  const otherObeyedNames = createOtherNames();
  return {
    /** `elsewhere` are secrets that lie outside, and may have another name in the roots. */
    scanRoots: async (
      scan: WorkspaceScan,
      roots: readonly string[],
      elsewhere: readonly string[] = [],
    ): Promise<Scanned> => {
      const scanned = await scan.current();
      source.obeyedBeside?.see(obeyedBesideOf(scanned));
      const named = secretsIn(scanned);
      const others = await otherSecretNames([...new Set([...named, ...elsewhere])], roots);
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
  { tier, reach, cwd, lookups }: ProfileCall,
  profile: SandboxProfile,
  secrets: readonly string[],
  tracked: TrackedSecrets,
  findTracked: ReturnType<typeof createTrackedFinder>,
): ChangedArgs => {
  if (repository === undefined) return { args, notes: [] };
  const changeable = withoutHeldPaths(args, () =>
    heldPaths(repository, profile, reach.rules.roots, findTracked),
  );
  const from = gitStart(args, cwd, lookups) ?? cwd;
  const asked = withoutUnasked(
    changeable,
    () => unknownConfig(repository, reach, findTracked),
    (path, name) => insideRoots(posix.join(repository.top, name), [posix.resolve(from, path)]),
  );
  const collected =
    tier === "plain"
      ? withoutCollected(asked, () => withheldPaths(repository, [...secrets, ...profile.hidden], tracked))
      : asked;
  return {
    args: withoutRefusedNames(collected),
    notes: asked.length > changeable.length ? [LEFT_OUT] : [],
  };
};

/** Where git keeps what belongs to a work tree in a root, if that is elsewhere: it was checked that the operator opened it. */
const openedDirectories = (
  repository: GitRepository | undefined,
  roots: readonly string[],
): readonly string[] => {
  if (repository === undefined) return [];
  const { gitDir, commonDir } = repository;
  const elsewhere = [commonDir, ...(insideRoots(gitDir, [commonDir]) ? [] : [gitDir])];
  return elsewhere.filter((path) => !insideRoots(path, roots));
};

/** Builds the sandbox profile of an approved command from the current content of the roots. */
export const createProfiler = (options: ProfilerOptions) => {
  const { reach: source, scans } = options;
  const { scanRoots, findHardLinks } = createFinders(source);
  const findTracked = createTrackedFinder();

  return async (
    { argv: [program, ...judgedArgs], writes, git }: Allowed,
    args: readonly string[],
    cwd: string,
    tier: Tier,
    lookups: LookupBudget,
  ): Promise<Prepared> => {
    const { network, limits, readPaths } = options.settings();
    const { reach, scan } = scans.now();
    const { roots } = reach.rules;
    const call: ProfileCall = { writes, args, cwd, tier, reach, lookups, gitFolder: options.gitFolder };
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
    const own = located?.repository;
    const gitRoots = [...roots, ...openedDirectories(own, roots)];
    const profile = buildProfile(
      { ...request, cwd, writes, network, limits, guardsNames: tier !== "landlock", readPaths: opened },
      { ...reach, rules: { ...reach.rules, roots: gitRoots } },
      found,
      [...obeyedNames, ...hardLinks],
    );
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
              roots: gitRoots,
              stateFolders: closedPaths("commands", reach.reachRules),
              writesTracked,
              isGit: git !== undefined,
              managed: options.managed,
              repository: own,
              findTracked,
              putBackHeld:
                own !== undefined && tier === "plain" && mayChangeWorkTree(judgedArgs)
                  ? createHeldContents(
                      secrets.filter((path) => insideRoots(path, [own.top]) && !tracked.unmodified.has(path)),
                      tracked.changed,
                      roots,
                    )
                  : undefined,
            })
          : {},
    };
  };
};
