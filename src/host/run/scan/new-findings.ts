import { lstatSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { readText, realOf } from "../../git/files.ts";
import { gitPointer, MAX_POINTER_BYTES } from "../../git/git-dir.ts";
import type { OwnWrites } from "../../reach/own-writes.ts";
import { isPlainRepository } from "../git/repository.ts";
import { createTrackedFinder } from "../git/tracked.ts";
import type { SetAside } from "../tiers/contract.ts";
import { ledElsewhere, type ObeyedName } from "./obeyed-names.ts";
import { moveAside, openBelow } from "./protected-names.ts";
import type { Finding, WorkspaceScan } from "./workspace-scan.ts";

const findTracked = createTrackedFinder();

/** A start-up folder with more files is not compared with what git keeps. */
const MAX_STARTUP_FILES = 200;

const listFiles = (path: string, max: number): readonly string[] | undefined => {
  const files: string[] = [];
  const paths = [path];
  for (const next of paths) {
    const stats = lstatSync(next, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) paths.push(...readdirSync(next).map((name) => posix.join(next, name)));
    else if (stats?.isFile() === true) files.push(next);
    else return undefined;
    if (paths.length > max) return undefined;
  }
  return files;
};

/** The files at or below a path; undefined where there are too many, or something else, or one cannot be looked at. */
const filesBelow = (path: string, max: number): readonly string[] | undefined => {
  try {
    return listFiles(path, max);
  } catch {
    return undefined;
  }
};

const NOT_WHOLE =
  "not checked completely: it has too many folders to scan after every command, so some new start-up files may not have been found";

/** Maximum nesting depth of renamed findings that contain further findings. */
const MAX_ROUNDS = 32;

/**
 * A work tree that was added to a repository which was there before: its pointer leads to the folder that git made for
 * it, and this folder leads back.
 */
const isAddedWorkTree = ({ path }: Finding, known: readonly Finding[]): boolean => {
  const pointer = gitPointer(path);
  if (pointer === undefined) return false;
  const target = realOf(posix.resolve(posix.dirname(path), pointer));
  const back = target === undefined ? undefined : readText(posix.join(target, "gitdir"), MAX_POINTER_BYTES);
  const isMade = known.some(
    ({ kind, isLink, path: gitDir }) =>
      kind === "git" && !isLink && posix.dirname(target ?? "") === posix.join(gitDir, "worktrees"),
  );
  return isMade && back !== undefined && realOf(back.replace(/\n$/, "")) === realOf(path);
};

interface NewFindingsOptions {
  readonly scan: WorkspaceScan;
  readonly before: readonly Finding[];
  readonly obeyedNames: readonly ObeyedName[];
  readonly roots: readonly string[];
  /** State folders of this very server, which it makes when it needs them. */
  readonly own: readonly string[];
  readonly ownWrites: OwnWrites | undefined;
  /** Git that may write brings start-up files along with a branch. */
  readonly isGit: boolean;
  /** The command has not ended: start-up files may be the user's own doing and wait, repositories are judged. */
  readonly isRunning: boolean;
  /** It was a long-running process, so anybody may have created what appeared meanwhile. */
  readonly isLong: boolean;
  /** Whether the command's sandbox kept it from making this name: then the user made it meanwhile. */
  readonly isBeyondReach: (path: string) => boolean;
}

/**
 * Renames files that did not exist before a command ran and that the user's programs would obey. Nothing can prevent a
 * command from creating a name in a writable folder, so such files are renamed as soon as the command has ended. They
 * are never deleted, because they may be the user's own. A new repository that is plain, as `git init` and `git clone`
 * leave it, stays.
 */
export const setNewFindingsAside = async ({
  scan,
  before,
  obeyedNames,
  roots,
  own,
  ownWrites,
  isGit,
  isRunning,
  isLong,
  isBeyondReach,
}: NewFindingsOptions): Promise<readonly SetAside[]> => {
  const knownPaths = new Set(
    before.map(({ path, kind, isLink, identity }) => `${kind} ${path} ${isLink ? identity : ""}`),
  );
  // A link that was moved leads elsewhere, and no mount kept it in its place.
  const knownThings = new Set(
    before.filter(({ isLink }) => !isLink).map(({ kind, identity }) => `${kind} ${identity}`),
  );
  const isNew = ({ path, kind, isLink, identity }: Finding): boolean =>
    !knownPaths.has(`${kind} ${path} ${isLink ? identity : ""}`) && !knownThings.has(`${kind} ${identity}`);
  /**
   * Whether it was written by a file tool or by the user, or is identical to the version in git, which means that a
   * checkout created it.
   */
  const isSomebodyElses = (path: string): boolean => {
    if (ownWrites?.covers(path) === true || isBeyondReach(path)) return true;
    const files = filesBelow(path, MAX_STARTUP_FILES);
    return files !== undefined && files.length > 0 && findTracked(files, roots).kept.size === files.length;
  };
  const isNewStartup = (finding: Finding): boolean =>
    finding.kind === "startup" && isNew(finding) && !isSomebodyElses(finding.path);
  const isObeyed = (finding: Finding): boolean => {
    if (finding.kind === "startup") return !isGit && !isLong && isNewStartup(finding);
    // Only an llmc server creates a state folder, and this server created its own before the command started.
    if (finding.kind === "state") return !isRunning && !own.includes(finding.path);
    if (finding.kind === "closed" || finding.kind === "unknown") return true;
    if (finding.kind !== "git") return false;
    return !isPlainRepository(finding.path, roots) && !isAddedWorkTree(finding, before);
  };
  /** Even under its new name, such a folder cannot be scanned. */
  const renamedUnseen = new Set<string>();
  const planted = async (): Promise<readonly Finding[]> => {
    const found = await (isRunning ? scan.current() : scan.again());
    return found.filter(
      (finding) => isNew(finding) && isObeyed(finding) && !renamedUnseen.has(finding.identity),
    );
  };
  const rename = async (path: string): Promise<SetAside | undefined> => {
    const root = roots.find((folder) => insideRoots(path, [folder]));
    if (root === undefined) return undefined;
    // Reported as a failure, because the reader of the answer has to remove the file by hand.
    return moveAside(root, path).catch(() => ({
      path: path.toWellFormed(),
      movedTo: "still there: it could not be renamed",
    }));
  };
  const moved: SetAside[] = [];
  const setAside = async ({ path, kind, isLink, identity }: Finding): Promise<void> => {
    if (kind === "closed") {
      const root = roots.find((folder) => insideRoots(path, [folder]));
      // What is not ours to open stays withheld from every command.
      if (root !== undefined) await openBelow(root, path).catch(() => {});
      return;
    }
    if (kind === "unknown") renamedUnseen.add(identity);
    // Under any other name it would still be a git directory: without its HEAD it is none.
    const head = kind === "git" && !isLink ? await rename(posix.join(path, "HEAD")) : undefined;
    const aside =
      (posix.basename(path) === ".git" || kind !== "git" ? await rename(path) : undefined) ?? head;
    if (aside !== undefined) moved.push(aside);
  };
  // A folder that was a finding itself, such as a start-up folder, was not scanned and may contain more.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = await planted();
    const before = moved.length;
    for (const finding of next) await setAside(finding);
    if (next.some(({ kind }) => kind === "closed") && round < MAX_ROUNDS / 2) continue;
    if (moved.length === before || moved.at(-1)?.movedTo.startsWith("still there") === true) break;
  }
  // Start-up links of a long run may be the user's own doing, like other start-up files.
  const judged = isRunning ? [] : obeyedNames.filter(({ kind }) => kind !== "startup" || !(isGit || isLong));
  for (const name of ledElsewhere(judged, roots)) {
    const aside = ownWrites?.covers(name) === true ? undefined : await rename(name);
    if (aside !== undefined) moved.push(aside);
  }
  // Somebody else may have created these; the reader of the answer can decide.
  const unseen = isRunning || scan.isWhole() ? [] : roots.map((path) => ({ path, movedTo: NOT_WHOLE }));
  const unclear = isLong && !isRunning && !isGit ? (await scan.current()).filter(isNewStartup) : [];
  return [
    ...moved,
    ...unclear.map(({ path }) => ({
      path: path.toWellFormed(),
      movedTo: "still there: a new start-up file",
    })),
    ...unseen,
  ];
};
