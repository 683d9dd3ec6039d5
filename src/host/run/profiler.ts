import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { gitShowsSecrets } from "../../policy/command-exclusions.ts";
import { changedFolders, subcommandOf } from "../../policy/command-git.ts";
import type { judgeCommand } from "../../policy/commands.ts";
import { insideRoots, pathDenied } from "../../policy/paths.ts";
import { followed } from "../reach/path-rules.ts";
import type { CallerReach, Reach } from "../reach/reach.ts";
import { gitFolders, refuseGitDirectories, refuseRecursive } from "./argument-paths.ts";
import { refuseConfiguredFiles } from "./git/configured-paths.ts";
import { refuseBorrowedFiles, refusePlannedPrograms } from "./git/links.ts";
import {
  checkRepository,
  findRepository,
  hasSubmodules,
  programsOff,
  settingsFolders,
} from "./git/repository.ts";
import { createTrackedFinder } from "./git/tracked.ts";
import { buildProfile } from "./sandbox-profile.ts";
import { setNewFindingsAside } from "./scan/new-findings.ts";
import { obeyedNamesOf } from "./scan/obeyed-names.ts";
import { createOtherNames } from "./scan/other-names.ts";
import { createWorkspaceScan, findingOf } from "./scan/workspace-scan.ts";
import { beyondReach } from "./tiers/beyond-reach.ts";
import type { CommandRequest, SandboxProfile, Tier } from "./tiers/contract.ts";
import type { CommandLimits } from "./tree/limits.ts";

interface ProfilerOptions {
  readonly reach: CallerReach;
  readonly settings: () => { readonly network: boolean; readonly limits: CommandLimits };
}

const refuseUnsure = (): LlmcError =>
  new LlmcError("forbidden", "git is not run in this repository: settings of one inside it cannot be read.", {
    hint: "A configuration that includes others, or is not UTF-8, is only read in a sandbox (see `llmc doctor`).",
  });

/** Where git looks for its repository, by real paths; what leaves the roots is refused in every tier. */
const gitFolder = (cwd: string, steps: readonly string[], { rules }: Reach): string => {
  const folder = steps.reduce((from, step) => {
    const next = posix.resolve(from, step);
    return followed(next)?.real ?? next;
  }, cwd);
  if (!insideRoots(folder, rules.roots)) throw pathDenied(steps.join(" -C "), "outside", rules);
  return folder;
};

/** They make a repository, or find one of their own. */
const MAKES_REPOSITORY: ReadonlySet<string> = new Set(["init", "clone", "submodule"]);

/** Git uses the repository that was checked, or none; it must not discover another one by itself. */
const NO_REPOSITORY = { gitDir: "/dev/null", top: undefined };

type Allowed = Extract<ReturnType<typeof judgeCommand>, { readonly allowed: true }>;

interface Prepared {
  readonly profile: SandboxProfile;
  readonly secrets: readonly string[];
  readonly gitSettings: readonly (readonly [string, string])[];
  readonly repository: NonNullable<CommandRequest["git"]>["repository"];
}

/** Builds the sandbox profile of an approved command from the current content of the roots. */
export const createProfiler = (options: ProfilerOptions) => {
  const { reach: source } = options;
  const scan = createWorkspaceScan(source);
  const otherNames = createOtherNames();
  const findTracked = createTrackedFinder();

  return async (
    { writes, git }: Allowed,
    args: readonly string[],
    cwd: string,
    tier: Tier,
  ): Promise<Prepared> => {
    const { network, limits } = options.settings();
    const reach = source.current();
    const { roots } = reach.rules;
    // `-C` moves git before it looks for its repository.
    const folder = git === undefined ? cwd : gitFolder(cwd, changedFolders(args), reach);
    const repository = git === undefined ? undefined : findRepository(folder, roots);
    if (repository !== undefined) checkRepository(repository, roots);
    const scanned = await scan.current();
    const named = scanned.filter(({ kind }) => kind === "secret").map(({ path }) => path);
    const others = await otherNames(named, roots);
    const found = [...scanned, ...others.map((path) => findingOf("secret", path))];
    const secrets = [...named, ...others];
    source.withheldFiles?.see(secrets);
    const { kept, changed } =
      git === undefined ? { kept: new Set<string>(), changed: new Set() } : findTracked(secrets, roots);
    if (tier === "plain" && git !== undefined) {
      const untracked = secrets.length > kept.size + changed.size;
      if (gitShowsSecrets(args, { untracked, changed: changed.size > 0 })) throw refuseRecursive("git");
    }
    const nestedIn = (top: string): readonly string[] =>
      found.filter(({ kind, path }) => kind === "git" && insideRoots(path, [top])).map(({ path }) => path);
    const folders = repository === undefined ? [] : settingsFolders(repository, nestedIn(repository.top));
    if (tier === "plain" && repository !== undefined)
      refuseConfiguredFiles(folders, [repository.top, folder], reach);
    refuseBorrowedFiles(folders, reach);
    if (repository !== undefined && git?.mayRun === false) {
      refuseGitDirectories(args, gitFolders(args, cwd, reach), [...folders, ...nestedIn(repository.top)]);
      refusePlannedPrograms(repository);
    }
    const { settings: gitSettings, isSure } =
      git?.mayRun === true ? { settings: [], isSure: true } : programsOff(folders);
    // A second git process, for a submodule, might run programs that we could not disable, so git may not start one.
    if (!isSure && tier === "plain") throw refuseUnsure();
    const startsOthers = git?.forks === true || (repository !== undefined && hasSubmodules(repository));
    const request = {
      cwd,
      writes,
      network,
      limits,
      noFork: git !== undefined && (!startsOthers || !isSure),
      git: git === undefined ? undefined : { repository, kept },
      guardsNames: tier !== "landlock",
    };
    const obeyedNames = writes ? obeyedNamesOf(found) : [];
    const profile = buildProfile(request, reach, found, obeyedNames);
    const handed = MAKES_REPOSITORY.has(subcommandOf(args) ?? "") ? undefined : (repository ?? NO_REPOSITORY);
    if (!writes) return { profile, secrets, gitSettings, repository: handed };
    const isGit = git !== undefined;
    const isBeyondReach = beyondReach(tier, profile);
    const setAsideNew: SandboxProfile["setAsideNew"] = (when) =>
      setNewFindingsAside({
        scan,
        before: found,
        obeyedNames,
        roots,
        own: reach.rules.privateDirs,
        ownWrites: source.ownWrites,
        isGit,
        isRunning: when === "running",
        isLong: when !== undefined,
        isBeyondReach,
      });
    return { profile: { ...profile, setAsideNew }, secrets, gitSettings, repository: handed };
  };
};
