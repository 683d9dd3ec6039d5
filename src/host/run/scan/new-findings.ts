import { posix } from "node:path";
import { GIT_NAME } from "../../../policy/git-directory.ts";
import { insideRoots, nameBeforeRefusal } from "../../../policy/paths.ts";
import { joinPath } from "../../git/follow-path.ts";
import { gitPointer } from "../../git/git-dir.ts";
import { MISSING, obeyedRealPath } from "../../git/obeyed-files.ts";
import { createLocations } from "../../reach/identity.ts";
import type { Saved } from "../git/own-changes.ts";
import { isPlainRepository } from "../git/repository.ts";
import { workTreeOf } from "../git/work-tree-folder.ts";
import { filterInTurns } from "./filter-in-turns.ts";
import { findRedirected, type ObeyedName } from "./obeyed-names.ts";
import { openBelow, quarantine, restoreBelow } from "./quarantine.ts";
import type { Quarantined } from "./quarantined.ts";
import { type Finding, headsIn, judgeable, type WorkspaceScan } from "./workspace-scan.ts";
import { leavesBelow, MAX_STARTUP_FILES } from "./written-by-llmc.ts";

/** Maximum nesting depth of renamed findings that contain further findings. */
const MAX_ROUNDS = 32;

/** A work tree that git added to a repository which was there before. */
const isAddedWorkTree = ({ path }: Finding, { before, writesTracked }: NewFindingsOptions): boolean => {
  const pointer = writesTracked ? gitPointer(path) : undefined;
  const target = pointer === undefined ? MISSING : obeyedRealPath(joinPath(posix.dirname(path), pointer));
  if (target === MISSING) return false;
  const isKnown = before.some(
    ({ kind, isLink, path: gitDir }) =>
      kind === "git" && !isLink && posix.dirname(target) === posix.join(gitDir, "worktrees"),
  );
  return isKnown && workTreeOf(target) === obeyedRealPath(path);
};

/** When the workspace is looked at: a command that is waited for runs shortly, a managed process long. */
export type RunPhase = "running" | "short run ended" | "long run ended";

/**
 * Repositories and start-up files that may appear beside a managed process. Nobody makes more in a workspace while a
 * development server runs, and each of them is work for the server, once a second.
 */
export const MAX_NEW_BESIDE = 500;

interface NewFindingsOptions {
  readonly scan: WorkspaceScan;
  /** What was there when the command started, and out of its reach since then. */
  readonly before: readonly LocatedFinding[];
  /** Repositories that were there, too, but may be the work of a managed process that runs beside it. */
  readonly beside: readonly LocatedFinding[];
  readonly obeyedNames: readonly ObeyedName[];
  readonly roots: readonly string[];
  /** State folders of this very server, which it makes when it needs them. */
  readonly stateFolders: readonly string[];
  /** Whether llmc itself wrote what is at a path now. */
  readonly isLlmcWrite: (path: string) => boolean;
  /** Whether the user's own git brought these files while the command ran. */
  readonly wasCheckedOut: (files: readonly string[]) => boolean;
  /** Of git, which brings start-up files along with a branch, and adds work trees. */
  readonly writesTracked: boolean;
  readonly isGit: boolean;
  /**
   * Start-up files that appear during a long run may be the user's own doing. While it lasts they wait and only
   * repositories are judged.
   */
  readonly phase: RunPhase;
}

interface Judging extends NewFindingsOptions {
  /** Whether somebody else than the command may have made a repository. */
  readonly mayBeUsers: (finding: Finding) => boolean;
}

/** A finding, and the very folders that lead to it. */
export interface LocatedFinding extends Finding {
  readonly location: string;
}

/**
 * Known is the very file that was there, in its place: what was moved meanwhile may have been changed in between. A
 * folder that takes another one's name brings along the rights that a command has to it, so every folder on the way counts.
 */
const newSince = (
  before: readonly LocatedFinding[],
  roots: readonly string[],
): ((finding: Finding) => boolean) => {
  const keyOf = ({ kind, path, identity }: Finding, location: string): string =>
    `${kind} ${identity} ${location} ${path}`;
  const known = new Set(before.map((finding) => keyOf(finding, finding.location)));
  const locationOf = createLocations(roots);
  return (finding) => !known.has(keyOf(finding, locationOf(finding.path)));
};

/**
 * Whether each of its files was written by a file tool, or came with the user's own checkout. Where they are does not
 * count, because folders move, with the rights that a command has to them.
 */
const isNotOfCommand = (path: string, { isLlmcWrite, wasCheckedOut }: NewFindingsOptions): boolean => {
  const leaves = leavesBelow(path, MAX_STARTUP_FILES);
  const others = leaves?.filter((leaf) => !isLlmcWrite(leaf));
  return others !== undefined && (others.length === 0 || wasCheckedOut(others));
};

/**
 * Repositories are made by git. Beside a process that runs for hours the user makes them too: there, plain ones stay. A
 * plain one that another program made could be given programs later, by whoever holds a file of it open.
 */
const isNewOfGit = (finding: Finding, options: Judging): boolean => {
  const { isGit, mayBeUsers, roots } = options;
  if ((isGit || mayBeUsers(finding)) && isPlainRepository(finding.path, roots)) return true;
  return isAddedWorkTree(finding, options);
};

/** It has the name that we gave it, or one like it: it is closed, and nothing obeys it. */
const isRefused = (path: string): boolean => {
  const name = posix.basename(path);
  return nameBeforeRefusal(name) !== name;
};

/** Whether a new finding would be obeyed, and the command may have created it. */
const isPlanted = (finding: Finding, options: Judging): boolean => {
  const { stateFolders, writesTracked, phase } = options;
  switch (finding.kind) {
    case "startup":
      return !writesTracked && phase === "short run ended" && !isNotOfCommand(finding.path, options);
    case "state":
      // Only an llmc server creates a state folder, and this server created its own before the command started.
      return phase !== "running" && !stateFolders.includes(finding.path) && !isRefused(finding.path);
    case "git":
      return !isNewOfGit(finding, options);
    case "secret":
    case "config":
    case "ignore":
      return false;
    default:
      return true;
  }
};

/** What cannot be judged may be anything: it must not keep the rest from being judged. */
const mayBePlanted = (finding: Finding, options: Judging): boolean => {
  try {
    return isPlanted(finding, options);
  } catch {
    return true;
  }
};

/** Renames what is at a path in one of the roots; undefined where nothing is there. */
export const quarantineInRoots = async (
  path: string,
  roots: readonly string[],
): Promise<Quarantined | undefined> => {
  const root = roots.find((folder) => insideRoots(path, [folder]));
  if (root === undefined) return undefined;
  // Reported as a failure, because the reader of the answer has to remove the file by hand.
  return quarantine(root, path).catch(() => ({ kind: "not renamed", path: path.toWellFormed() }));
};

/** Brings back what git removed; what has changed under it meanwhile stays as it is. */
export const restoreInRoots = async (path: string, saved: Saved, roots: readonly string[]): Promise<void> => {
  const root = roots.find((folder) => insideRoots(path, [folder]));
  if (root !== undefined) await restoreBelow(root, path, saved).catch(() => {});
};

const quarantineFinding = async (
  { path, kind, isLink }: Finding,
  roots: readonly string[],
): Promise<Quarantined | undefined> => {
  if (kind === "closed") {
    const root = roots.find((folder) => insideRoots(path, [folder]));
    // A folder that we cannot open stays withheld from every command.
    if (root !== undefined) await openBelow(root, path).catch(() => {});
    return undefined;
  }
  // Under any other name it would still be a git directory, but not without its HEAD.
  let head: Quarantined | undefined;
  for (const name of kind === "git" && !isLink ? headsIn(path) : [])
    head = (await quarantineInRoots(posix.join(path, name), roots)) ?? head;
  const isRenamed = GIT_NAME.test(posix.basename(path)) || kind !== "git";
  return (isRenamed ? await quarantineInRoots(path, roots) : undefined) ?? head;
};

/** Whether more is new than anybody but a program makes. What was only moved does not count. */
const isFlood = (fresh: readonly Finding[], { before, beside, phase }: NewFindingsOptions): boolean => {
  if (phase === "short run ended" || fresh.length <= MAX_NEW_BESIDE) return false;
  const known = new Set([...before, ...beside].map(({ identity }) => identity));
  return (
    fresh.filter(({ kind, identity }) => kind !== "secret" && !known.has(identity)).length > MAX_NEW_BESIDE
  );
};

/** Renames in rounds: a folder that was a finding itself, such as a start-up folder, was not scanned and may contain more. */
const quarantinePlanted = async (options: NewFindingsOptions): Promise<readonly Quarantined[]> => {
  const { scan, roots, phase, before, beside } = options;
  const isNew = newSince(before, roots);
  const isNotBeside = newSince(beside, roots);
  const moved: Quarantined[] = [];
  /** Even under its new name, such a folder cannot be scanned. */
  const renamedUnseen = new Set<string>();
  let wasFlooded = false;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = judgeable(await (phase === "running" ? scan.current() : scan.again()));
    const fresh = await filterInTurns(
      found,
      (finding) => isNew(finding) && !renamedUnseen.has(finding.identity),
    );
    wasFlooded ||= isFlood(fresh, options);
    // It is ended for that, and judged then.
    if (wasFlooded && phase === "running") return [{ kind: "too many new", path: roots[0] ?? "/" }];
    const isBeside = phase !== "short run ended" && !wasFlooded;
    const judging = { ...options, mayBeUsers: (finding: Finding) => isBeside || !isNotBeside(finding) };
    const planted = await filterInTurns(fresh, (finding) => mayBePlanted(finding, judging));
    const count = moved.length;
    for (const finding of planted) {
      if (finding.kind === "unknown") renamedUnseen.add(finding.identity);
      const quarantined = await quarantineFinding(finding, roots);
      if (quarantined !== undefined) moved.push(quarantined);
    }
    const isClosed = planted.some(({ kind }) => kind === "closed");
    if (isClosed && round < MAX_ROUNDS / 2) continue;
    if (isClosed) break;
    if (moved.length === count || moved.at(-1)?.kind === "not renamed") return moved;
  }
  return [...moved, ...roots.map((path) => ({ kind: "nested too deeply", path }) as const)];
};

/** Renames obeyed names that lead elsewhere than before. */
const quarantineRedirected = async ({
  obeyedNames,
  roots,
  isLlmcWrite,
  writesTracked,
  phase,
}: NewFindingsOptions): Promise<readonly Quarantined[]> => {
  if (phase === "running") return [];
  // Start-up links of a long run may be the user's own doing, like other start-up files.
  const checksStartup = !writesTracked && phase === "short run ended";
  const checked = obeyedNames.filter(({ kind }) => kind !== "startup" || checksStartup);
  const moved: Quarantined[] = [];
  for (const name of findRedirected(checked, roots)) {
    const quarantined = isLlmcWrite(name) ? undefined : await quarantineInRoots(name, roots);
    if (quarantined !== undefined) moved.push(quarantined);
  }
  return moved;
};

/** New start-up files that somebody else may have created during a long run; the reader of the answer can decide. */
const unclearStartups = async (options: NewFindingsOptions): Promise<readonly Quarantined[]> => {
  if (options.phase !== "long run ended" || options.writesTracked) return [];
  const isNew = newSince(options.before, options.roots);
  const unclear = await filterInTurns(
    judgeable(await options.scan.current()),
    (finding) => finding.kind === "startup" && isNew(finding) && !isNotOfCommand(finding.path, options),
  );
  return unclear.map(({ path }) => ({ kind: "new start-up file", path: path.toWellFormed() }));
};

/**
 * Renames files that did not exist before a command ran and that the user's programs would obey. Nothing can prevent a
 * command from creating a name in a writable folder, so such files are renamed as soon as the command has ended. They
 * are never deleted, because they may be the user's own. A new repository that is plain, as `git init` and `git clone`
 * leave it, stays.
 */
export const quarantineNewFindings = async (options: NewFindingsOptions): Promise<readonly Quarantined[]> => {
  const { scan, roots, phase } = options;
  const planted = await quarantinePlanted(options);
  const redirected = await quarantineRedirected(options);
  const unclear = await unclearStartups(options);
  const unseen =
    phase === "running" || scan.isWhole()
      ? []
      : roots.map((path) => ({ kind: "too many folders", path }) as const);
  return [...planted, ...redirected, ...unclear, ...unseen];
};
