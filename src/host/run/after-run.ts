import { insideRoots } from "../../policy/paths.ts";
import { gitDirOf } from "../git/git-dir.ts";
import { createLocations, identify } from "../reach/identity.ts";
import type { CallerReach } from "../reach/reach.ts";
import { sha256Of } from "../reach/written-file.ts";
import type { JudgedCommand } from "./contract.ts";
import { createOwnUndo } from "./git/own-run.ts";
import type { GitRepository } from "./git/repository.ts";
import type { createTrackedFinder } from "./git/tracked.ts";
import { noteIndexes } from "./git/user-checkouts.ts";
import { quarantineInRoots, quarantineNewFindings, restoreInRoots } from "./scan/new-findings.ts";
import type { ObeyedName } from "./scan/obeyed-names.ts";
import type { Quarantined } from "./scan/quarantined.ts";
import type { Finding, WorkspaceScan } from "./scan/workspace-scan.ts";
import { allWrittenByLlmc } from "./scan/written-by-llmc.ts";
import type { SandboxProfile, Tier } from "./tiers/contract.ts";
import type { ManagedWriters } from "./write-locks/managed-writers.ts";

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
  readonly managed: ManagedWriters;
  /** Puts back what nothing kept git from. */
  readonly putBackHeld: (() => Promise<readonly Quarantined[]>) | undefined;
}

export type AfterRun = Pick<JudgedCommand, "quarantineNew" | "isLlmcWrite" | "restoring" | "noteManaged">;

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
  managed,
  putBackHeld,
}: WrittenRoots): AfterRun => {
  const isLlmcWrite = (path: string): boolean => source.ownWrites?.has(path) === true;
  const mounts = {
    readOnly: tier === "bubblewrap" ? profile.protectedInside : [],
    writable: profile.writableAgain ?? [],
  };
  const undoGit =
    repository &&
    createOwnUndo(repository, mounts, {
      quarantine: (path) => quarantineInRoots(path, roots),
      restore: (path, saved) => restoreInRoots(path, saved, roots),
    });
  const isKnown = managed.readKnown();
  const isBeside = (finding: Finding): boolean => finding.kind === "git" && !isKnown(finding);
  const repositories = found.filter((finding) => finding.kind === "git" && isKnown(finding));
  const knownFiles = () =>
    profile.protectedInside
      .map((path) => ({ path, identity: identify(path) ?? "" }))
      .filter((file) => file.identity !== "" && isKnown(file));
  const locationOf = createLocations(roots);
  const located = found.map((finding) => ({ ...finding, location: locationOf(finding.path) }));
  const gitDirs = repositories.filter(({ isLink }) => !isLink).map(({ path }) => path);
  // The index of the repository that git itself may write is no witness of its user's work.
  const isOwn = (entry: string): boolean => repository !== undefined && gitDirOf(entry) === repository.gitDir;
  const witnesses = gitDirs.filter((entry) => !isOwn(entry));
  const wasCheckedOut = noteIndexes(witnesses, roots, findTracked);
  const guarded = (unguarded: readonly string[]) =>
    located.filter(({ path }) => !insideRoots(path, unguarded));
  return {
    isLlmcWrite: (path) => allWrittenByLlmc(path, isLlmcWrite),
    restoring: {
      isAllowed: (path) => isKnown({ path, identity: identify(path) ?? "" }) || isLlmcWrite(path),
      note: (path, content) => source.ownWrites?.note(path, { sha256: sha256Of(content) }),
    },
    noteManaged: () => managed.add(roots, [...repositories, ...knownFiles()]),
    quarantineNew: (phase, unguarded) =>
      runEach([
        async () => (phase === "running" ? [] : ((await putBackHeld?.()) ?? [])),
        async () => (phase === "running" ? [] : ((await undoGit?.(unguarded)) ?? [])),
        () =>
          quarantineNewFindings({
            scan,
            before: guarded(unguarded).filter((finding) => !isBeside(finding)),
            beside: guarded(unguarded).filter(isBeside),
            obeyedNames,
            roots,
            stateFolders,
            isLlmcWrite,
            wasCheckedOut: (files) => wasCheckedOut(files, unguarded),
            writesTracked,
            isGit,
            phase,
          }),
      ]),
  };
};
