import { insideRoots } from "../../policy/paths.ts";
import { gitDirOf } from "../git/git-dir.ts";
import { createLocations, identify } from "../reach/identity.ts";
import type { CallerReach } from "../reach/reach.ts";
import type { JudgedCommand } from "./contract.ts";
import { noteObeyed } from "./git/gained.ts";
import { createOwnRun } from "./git/own-run.ts";
import type { GitRepository } from "./git/repository.ts";
import type { createTrackedFinder } from "./git/tracked.ts";
import { noteIndexes } from "./git/user-checkouts.ts";
import { dropGained, quarantineInRoots, quarantineNewFindings, restoreInRoots } from "./scan/new-findings.ts";
import type { ObeyedName } from "./scan/obeyed-names.ts";
import type { Finding, WorkspaceScan } from "./scan/workspace-scan.ts";
import type { SandboxProfile, Tier } from "./tiers/contract.ts";

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

interface WrittenRoots {
  readonly scan: WorkspaceScan;
  readonly source: CallerReach;
  readonly tier: Tier;
  readonly profile: SandboxProfile;
  /** What was there before the command. */
  readonly found: readonly Finding[];
  readonly obeyedNames: readonly ObeyedName[];
  readonly roots: readonly string[];
  readonly stateFolders: readonly string[];
  readonly writesTracked: boolean;
  readonly isGit: boolean;
  /** Of git: the repository that it works on. */
  readonly repository: GitRepository | undefined;
  readonly findTracked: ReturnType<typeof createTrackedFinder>;
  /** Of the server: identities of repositories that appeared beside a process that was started to run on. */
  readonly madeBeside: Set<string>;
}

export type AfterRun = Pick<JudgedCommand, "quarantineNew" | "isLlmcWrite" | "ownRepository">;

/** What is checked, renamed and restored when a command that may write has run; taken note of before it runs. */
export const planAfterRun = ({
  scan,
  source,
  tier,
  profile,
  found,
  obeyedNames,
  roots,
  stateFolders,
  writesTracked,
  isGit,
  repository,
  findTracked,
  madeBeside,
}: WrittenRoots): AfterRun => {
  const isLlmcWrite = (path: string): boolean => source.ownWrites?.has(path) === true;
  const mounts = {
    readOnly: tier === "bubblewrap" ? profile.protectedInside : [],
    writable: profile.writableAgain ?? [],
  };
  const gitRun =
    repository &&
    createOwnRun(repository, mounts, {
      quarantine: (path) => quarantineInRoots(path, roots),
      restore: (path, saved) => restoreInRoots(path, saved, roots),
    });
  const gitFindings = found.filter(({ kind, isLink }) => kind === "git" && !isLink);
  const gitDirs = gitFindings.map(({ path }) => path);
  // What git itself writes in its own repository is judged by the undo.
  const isOwn = (entry: string): boolean => repository !== undefined && gitDirOf(entry) === repository.gitDir;
  const findGained = noteObeyed(
    gitDirs.filter((entry) => !isOwn(entry)),
    madeBeside,
  );
  const locationOf = createLocations(roots);
  const located = found.map((finding) => ({ ...finding, location: locationOf(finding.path) }));
  const wasCheckedOut = noteIndexes(gitDirs, roots, findTracked);
  return {
    isLlmcWrite,
    ownRepository: gitRun?.ownRepository,
    quarantineNew: (phase, unguarded) =>
      runEach([
        async () => (phase === "running" ? [] : ((await gitRun?.undo(unguarded)) ?? [])),
        async () => (phase === "running" ? [] : dropGained(findGained(), roots)),
        () =>
          quarantineNewFindings({
            scan,
            before: located.filter(({ path }) => !insideRoots(path, unguarded)),
            obeyedNames,
            roots,
            stateFolders,
            isLlmcWrite,
            wasCheckedOut: (files) => wasCheckedOut(files, unguarded),
            writesTracked,
            isGit,
            onMadeBeside: (path) => madeBeside.add(identify(gitDirOf(path) ?? path) ?? ""),
            phase,
          }),
      ]),
  };
};
