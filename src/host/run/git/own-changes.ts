import { type BigIntStats, type Dirent, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { posix } from "node:path";
import { systemErrorCode } from "../../../base/system-error.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { refusedRepository } from "../../git/files.ts";
import { isThere, MISSING, readObeyed } from "../../git/obeyed-files.ts";
import { PLANS, plansProgram } from "./plans.ts";
import type { GitRepository } from "./repository.ts";
import { workTreeOf } from "./work-tree-folder.ts";

/**
 * Files of a git directory that git reads as data: names in capitals (HEAD, MERGE_MSG, BISECT_LOG …), the index, packed
 * references, locks. Whatever else is created or changed there is something that git could execute or obey,
 * whichever sub-command wrote it (REQ-D24).
 */
const DATA_FILE =
  /^(?:[A-Z][A-Z_]*|index|sharedindex\.[0-9a-f]{40,64}|packed-refs(?:\.new)?|shallow|gc\.(?:log|pid)|description|.*\.lock)$/;
/** Folders of which everything inside is data. */
const DATA_FOLDERS: ReadonlySet<string> = new Set(
  "refs logs rr-cache lost-found NOTES_MERGE_WORKTREE".split(" "),
);
/** Folders of which everything inside is obeyed. What other tools keep in folders of their own is theirs. */
const OBEYED_FOLDERS: ReadonlySet<string> = new Set(["hooks", "remotes", "branches"]);
/** In `info`, and in `objects/info`: who else keeps objects, and what attributes say, is obeyed. */
const OBEYED_INFO: ReadonlySet<string> = new Set(["attributes", "grafts", "alternates", "http-alternates"]);
/** In `objects`: what git keeps, and where it gathers what it receives. */
const OBJECT_FOLDER = /^(?:[0-9a-f]{2}|info|pack|(?:tmp_objdir-)?incoming-\w+|tmp_objdir-[\w-]+)$/;
/** Of the folder of a work tree: what `git worktree add` makes and `git worktree lock` and `move` change. */
const OF_WORK_TREE: ReadonlySet<string> = new Set(["commondir", "gitdir", "locked"]);

const MAX_ENTRIES = 20_000;

/** Hooks and configuration are small; what is larger is renamed, but cannot be brought back. */
const MAX_SAVED_BYTES = 1024 * 1024;
const MAX_SAVED_IN_ALL = 16 * 1024 * 1024;

/** How something was, so that it can be brought back. */
export type Saved =
  | { readonly kind: "folder"; readonly mode: number }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "file"; readonly content: Buffer; readonly mode: number };

interface Entry {
  /** Changes with the content and with the rights. */
  readonly stamp: string;
  /** Undefined for what is not brought back: it is too large, or neither file, folder nor link. */
  readonly saved: Saved | undefined;
}

/** Everything in the git directories of a repository that is not git's data, by its path. */
export type OwnState = ReadonlyMap<string, Entry>;

const save = (path: string, stats: BigIntStats, maxBytes: number): Saved | undefined => {
  const mode = Number(stats.mode) & 0o7777;
  if (stats.isDirectory()) return { kind: "folder", mode };
  if (stats.isSymbolicLink()) return { kind: "link", target: readlinkSync(path) };
  if (!stats.isFile() || stats.size > BigInt(maxBytes)) return undefined;
  const content = readObeyed(path, maxBytes);
  return content === MISSING ? undefined : { kind: "file", content, mode };
};

/** Undefined where it has vanished: somebody else's git works here, too. */
const entryOf = (path: string, maxBytes: number): Entry | undefined => {
  try {
    const stats = lstatSync(path, { bigint: true });
    const { ino, size, mtimeNs, ctimeNs, mode } = stats;
    return {
      // A folder changes with what is in it, which has entries of its own.
      stamp: stats.isDirectory() ? "folder" : `${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`,
      saved: save(path, stats, maxBytes),
    };
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
};

/** Nothing where the folder has vanished; one that cannot be read could hold anything. */
const listFolder = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw refusedRepository(`${quoteForMessage(posix.basename(folder))} in its git directory cannot be read`);
  }
};

type Visit = (path: string) => void;

const visitAll = (folder: string, visit: Visit): void => {
  for (const entry of listFolder(folder)) {
    const path = posix.join(folder, entry.name);
    visit(path);
    if (entry.isDirectory()) visitAll(path, visit);
  }
};

const visitInfo = (folder: string, visit: Visit): void => {
  for (const name of OBEYED_INFO) {
    const path = posix.join(folder, name);
    if (isThere(path)) visit(path);
  }
};

/** A folder that git would take for a repository may hide among references or objects; no branch is called like that. */
const visitHidden = (folder: string, visit: Visit, isTop = true): void => {
  const entries = listFolder(folder);
  const isRepository = ["HEAD", "objects", "refs"].every((part) => entries.some(({ name }) => name === part));
  if (!isTop && isRepository) visit(folder);
  else
    for (const entry of entries)
      if (entry.isDirectory()) visitHidden(posix.join(folder, entry.name), visit, false);
};

const visitObjects = (folder: string, visit: Visit): void => {
  for (const entry of listFolder(folder))
    if (!entry.isFile() && !(entry.isDirectory() && OBJECT_FOLDER.test(entry.name)))
      visit(posix.join(folder, entry.name));
  visitInfo(posix.join(folder, "info"), visit);
};

const visitGitDir = (dir: string, visit: Visit): void => {
  for (const entry of listFolder(dir)) {
    const { name } = entry;
    const path = posix.join(dir, name);
    if (!entry.isDirectory()) {
      if (!entry.isFile() || !DATA_FILE.test(name)) visit(path);
    } else if (name === "info") visitInfo(path, visit);
    else if (name === "objects") visitObjects(path, visit);
    else if (name === "worktrees" || name === "modules") visitInner(path, visit);
    else if (PLANS.has(name)) {
      // Work in progress is data as long as no program is planned.
      if (!plansProgram(path)) continue;
      visit(path);
      visitAll(path, visit);
    } else if (DATA_FOLDERS.has(name)) visitHidden(path, visit);
    else {
      visit(path);
      if (OBEYED_FOLDERS.has(name)) visitAll(path, visit);
    }
  }
};

/** The folders of other work trees and of submodules are git directories in their turn; names may have slashes. */
const visitInner = (folder: string, visit: Visit): void => {
  for (const entry of listFolder(folder)) {
    const path = posix.join(folder, entry.name);
    if (!entry.isDirectory()) visit(path);
    else if (listFolder(path).some(({ name }) => name === "HEAD")) visitGitDir(path, visit);
    else visitInner(path, visit);
  }
};

const stateOf = ({ gitDir, commonDir }: GitRepository, maxBytes: number): OwnState => {
  const state = new Map<string, Entry>();
  let left = maxBytes;
  for (const dir of new Set([gitDir, commonDir]))
    visitGitDir(dir, (path) => {
      if (state.size > MAX_ENTRIES)
        throw refusedRepository("its git directory has too many files besides objects and references");
      const entry = entryOf(path, Math.min(left, MAX_SAVED_BYTES));
      if (entry === undefined) return;
      if (entry.saved?.kind === "file") left -= entry.saved.content.length;
      state.set(path, entry);
    });
  return state;
};

/** To be taken before git runs with the right to write. */
export const takeOwnState = (repository: GitRepository): OwnState => stateOf(repository, MAX_SAVED_IN_ALL);

const worktreeFolder = (path: string, { commonDir }: GitRepository): string | undefined => {
  const folder = `${posix.join(commonDir, "worktrees")}/`;
  return path.startsWith(folder)
    ? posix.join(folder, path.slice(folder.length).split("/")[0] ?? "")
    : undefined;
};

const isOfWorkTree = (path: string, worktree: string): boolean =>
  posix.dirname(path) === worktree && OF_WORK_TREE.has(posix.basename(path));

export interface UndoOptions<T> {
  readonly repository: GitRepository;
  readonly before: OwnState;
  /** Whether the sandbox kept git from it: then its user changed it meanwhile. */
  readonly isBeyondReach: (path: string) => boolean;
  /** Says what it did; undefined where nothing was there. */
  readonly quarantine: (path: string) => Promise<T | undefined>;
  /** Brings something back, nowhere but inside the roots and without following links. */
  readonly restore: (path: string, saved: Saved) => Promise<void>;
}

/**
 * Renames what git left in its own directory and would execute or obey, and brings back what was there before. A work
 * tree that `git worktree add` made stays.
 */
export const undoOwnChanges = async <T>({
  repository,
  before,
  isBeyondReach,
  quarantine,
  restore,
}: UndoOptions<T>): Promise<readonly T[]> => {
  const after = stateOf(repository, 0);
  const moved: T[] = [];
  const done = new Set<string>();
  const quarantineOnce = async (path: string): Promise<void> => {
    if (done.has(path)) return;
    done.add(path);
    const quarantined = await quarantine(path);
    if (quarantined !== undefined) moved.push(quarantined);
  };
  const isKnown = (folder: string): boolean =>
    [...before.keys()].some((path) => path.startsWith(`${folder}/`));
  const isInDone = (path: string): boolean => [...done].some((one) => path.startsWith(`${one}/`));
  for (const [path, { stamp }] of after) {
    if (before.get(path)?.stamp === stamp || isBeyondReach(path) || isInDone(path)) continue;
    const worktree = worktreeFolder(path, repository);
    if (worktree === undefined) await quarantineOnce(path);
    else if (workTreeOf(worktree) === undefined) await quarantineOnce(isKnown(worktree) ? path : worktree);
    else if (!isOfWorkTree(path, worktree)) await quarantineOnce(path);
  }
  for (const [path, { saved }] of before) {
    const worktree = worktreeFolder(path, repository);
    // A work tree may be removed as a whole.
    const isGone = !isThere(path) && !isBeyondReach(path) && (worktree === undefined || isThere(worktree));
    if (isGone && saved !== undefined) await restore(path, saved);
  }
  return moved;
};
