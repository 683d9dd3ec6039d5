import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import { systemErrorCode } from "../../../base/system-error.ts";
import { quoteForMessage } from "../../../base/text.ts";
import { BESIDE_HEAD, GIT_NAME } from "../../../policy/git-directory.ts";
import { insideRoots } from "../../../policy/paths.ts";
import { isPlainConfig, parseGitConfig } from "../../git/config.ts";
import { MAX_CONFIG_BYTES, readText, refusedRepository } from "../../git/files.ts";
import { commonDirOf, gitDirOf, MAX_POINTER_BYTES } from "../../git/git-dir.ts";
import {
  isThere,
  listObeyed,
  MISSING,
  obeyedEntry,
  obeyedRealPath,
  readObeyedText,
} from "../../git/obeyed-files.ts";
import { configuredFolders } from "./configured-paths.ts";
import { isWorkTreeIn } from "./work-tree-folder.ts";

/** Where git keeps what belongs to a work tree. Real paths. */
export interface GitRepository {
  /** Top of the work tree. */
  readonly top: string;
  /** The work tree's own: index, HEAD. */
  readonly gitDir: string;
  /** Shared by all work trees: objects, refs, configuration. */
  readonly commonDir: string;
}

const MAX_ALTERNATES_BYTES = 64 * 1024;

/** More than anybody has: each of them is looked up before git runs. */
const MAX_ALTERNATES = 100;

/** The stores that a store's list names. */
const namedAlternates = (objects: string): readonly string[] => {
  const list = posix.join(objects, "info/alternates");
  const text = readObeyedText(list, MAX_ALTERNATES_BYTES);
  if (text === MISSING) return [];
  // Git would unquote a quoted line; we do not, and refuse it.
  if (/^"/m.test(text)) throw refusedRepository("its list of alternates cannot be read");
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => posix.resolve(objects, line));
};

/** Other object stores that git would read, and those that they name in turn. */
export const alternatesOf = (objects: string): readonly string[] => {
  const stores = new Set([objects]);
  // A set goes on with what is added while it is read.
  for (const store of stores) {
    for (const named of namedAlternates(store)) stores.add(named);
    if (stores.size > MAX_ALTERNATES) throw refusedRepository("it has too many alternates");
  }
  return [...stores].slice(1);
};

/** What git takes for a HEAD (validate_headref): a branch, or the id of a commit. */
const HEAD_CONTENT = /^(?:ref:\s*refs\/|[0-9a-f]{40})/;

/** Whether a `.git` is a folder, but no git directory: then git goes on with the search in the parent folder. */
const isEmptyFolder = (entry: string): boolean => {
  const real = obeyedRealPath(entry);
  const found = real === MISSING ? MISSING : obeyedEntry(real);
  if (real === MISSING || found === MISSING || !found.isDirectory()) return false;
  const head = readObeyedText(posix.join(real, "HEAD"), MAX_POINTER_BYTES);
  return head === MISSING || !HEAD_CONTENT.test(head);
};

/** The repository that git would find in a folder, without going up. */
export const repositoryAt = (folder: string): GitRepository | undefined => {
  const entry = posix.join(folder, ".git");
  if (!isThere(entry) || isEmptyFolder(entry)) return undefined;
  const gitDir = gitDirOf(entry);
  if (gitDir === undefined) throw refusedRepository("its .git leads to nothing");
  return { top: folder, gitDir, commonDir: commonDirOf(gitDir) };
};

/** The repository that git would find from a folder, going up no further than the root that holds it. */
export const findRepository = (folder: string, roots: readonly string[]): GitRepository | undefined => {
  for (let dir = folder; insideRoots(dir, roots); dir = posix.dirname(dir)) {
    const found = repositoryAt(dir);
    if (found !== undefined || dir === "/") return found;
  }
  return undefined;
};

const OPENED_BY =
  "The operator can open it to git alone: llmc allow --repository, in this folder (mcp.tools.git_directories).";

/**
 * A repository may point anywhere: at another git directory, at other objects, at another work tree. Targets inside the
 * roots are the operator's choice; any other target was chosen by whoever created this workspace (REQ-D24).
 */
export const checkRepository = ({ gitDir, commonDir }: GitRepository, roots: readonly string[]): void => {
  const requireInside = (path: string, what: string, hint?: string): void => {
    const found = obeyedRealPath(path);
    const real = found === MISSING ? path : found;
    if (!insideRoots(real, roots))
      throw refusedRepository(`${what} lies in ${quoteForMessage(real)}, outside the allowed roots`, hint);
  };
  requireInside(gitDir, "its git directory", OPENED_BY);
  requireInside(commonDir, "its common directory", OPENED_BY);
  for (const dir of new Set([gitDir, commonDir])) {
    if (isThere(posix.join(dir, "objects"))) requireInside(posix.join(dir, "objects"), "its objects");
    for (const store of alternatesOf(posix.join(dir, "objects"))) requireInside(store, "an alternate");
    for (const path of configuredFolders(dir)) requireInside(path, "a path of its configuration");
  }
};

/** What git executes or obeys. Nobody may change it through llmc, not even git. */
const OBEYED = "hooks config config.worktree info/attributes info/grafts commondir gitdir modules".split(" ");

/** Of every work tree that was added: what leads to its settings. */
const POINTERS = ["commondir", "gitdir", "config.worktree"];

/** The folders of all work trees that were added. */
const workTreeFolders = ({ commonDir }: GitRepository): readonly string[] => {
  const folder = posix.join(commonDir, "worktrees");
  return isMissingOrRealFolder(folder) ? listObeyed(folder).map(({ name }) => posix.join(folder, name)) : [];
};

/**
 * The folders of work trees that are neither this one nor in the roots. A sandbox does not show those work trees, so git
 * would take them for gone and remove what it keeps for them: HEAD, index and reflogs, which nobody else has.
 */
export const unseenWorkTrees = (repository: GitRepository, roots: readonly string[]): readonly string[] =>
  workTreeFolders(repository).filter(
    (folder) => folder !== repository.gitDir && !isWorkTreeIn(folder, roots),
  );

/** What git may not change in its own directories, given the roots that it sees. */
export const obeyedParts = (repository: GitRepository, roots: readonly string[]): readonly string[] => {
  const unseen = unseenWorkTrees(repository, roots);
  const seen = workTreeFolders(repository).filter((folder) => !unseen.includes(folder));
  const { gitDir, commonDir } = repository;
  return [
    ...unseen,
    ...seen.flatMap((folder) => POINTERS.map((name) => posix.join(folder, name))),
    ...[...new Set([gitDir, commonDir])].flatMap((dir) => [
      ...OBEYED.map((name) => posix.join(dir, name)),
      posix.join(dir, "objects/info/alternates"),
      posix.join(dir, "objects/info/http-alternates"),
    ]),
  ];
};

/** Whether a folder is missing, or is a real one, no link, in which every name is allowed. */
const isMissingOrHolds = (folder: string, isAllowed: (name: string) => boolean): boolean => {
  try {
    return lstatSync(folder).isDirectory() && readdirSync(folder).every(isAllowed);
  } catch (error) {
    return systemErrorCode(error) === "ENOENT";
  }
};

const isMissingOrRealFolder = (folder: string): boolean => isMissingOrHolds(folder, () => true);

/** More than a fresh clone of a large repository has. */
const MAX_INNER_FOLDERS = 5000;

const findsRepository = (top: string): boolean => {
  const folders = [top];
  for (let at = 0; at < folders.length; at++) {
    const folder = folders[at] ?? top;
    const entries = readdirSync(folder, { withFileTypes: true });
    const names = new Set(entries.map(({ name }) => name.toLowerCase()));
    const isHidden =
      entries.some(({ name }) => GIT_NAME.test(name)) ||
      (names.has("head") && BESIDE_HEAD.some((name) => names.has(name)));
    if ((folder !== top && isHidden) || folders.length > MAX_INNER_FOLDERS) return true;
    for (const entry of entries) if (entry.isDirectory()) folders.push(posix.join(folder, entry.name));
  }
  return false;
};

/**
 * Whether another git directory is hidden somewhere inside. A tree that is too large or cannot be read counts as if it
 * contained one.
 */
const holdsRepository = (top: string): boolean => {
  try {
    return findsRepository(top);
  } catch {
    return true;
  }
};

/** What `git init`, `git clone` and commits leave in a git directory; in these folders, nothing or samples. */
const PLAIN_FILES =
  /^(?:HEAD|config|description|index|packed-refs|shallow|(?:ORIG|FETCH)_HEAD|COMMIT_EDITMSG|gc\.log)$/;
const PLAIN_FOLDERS: ReadonlySet<string> = new Set(["objects", "refs", "logs", "info", "hooks", "branches"]);
const PLAIN_INFO: ReadonlySet<string> = new Set(
  "exclude refs sparse-checkout packs commit-graph commit-graphs".split(" "),
);

const isPlainEntry = (dir: string, entry: Dirent): boolean => {
  const path = posix.join(dir, entry.name);
  // Through a second name it would be written later.
  if (entry.isFile()) return PLAIN_FILES.test(entry.name) && lstatSync(path).nlink === 1;
  if (!entry.isDirectory() || !PLAIN_FOLDERS.has(entry.name)) return false;
  if (entry.name === "hooks") return readdirSync(path).every((name) => name.endsWith(".sample"));
  if (entry.name === "branches") return readdirSync(path).length === 0;
  if (entry.name === "info") return readdirSync(path).every((name) => PLAIN_INFO.has(name));
  return (
    entry.name !== "objects" || isMissingOrHolds(posix.join(path, "info"), (name) => PLAIN_INFO.has(name))
  );
};

/**
 * Whether a git directory is one that git accepts and holds nothing that git would run or follow, as after a fresh
 * `git init` or `git clone`. Only known names count: what is not known to be harmless is not plain.
 */
export const isPlainRepository = (entry: string, roots: readonly string[]): boolean => {
  try {
    const stats = lstatSync(entry, { throwIfNoEntry: false });
    // A pointer brings another directory's settings along.
    if (stats?.isDirectory() !== true || !insideRoots(entry, roots)) return false;
    const entries = readdirSync(entry, { withFileTypes: true });
    const names = new Set(entries.map(({ name }) => name));
    const text = readText(posix.join(entry, "config"), MAX_CONFIG_BYTES);
    const settings = text === undefined ? undefined : parseGitConfig(text);
    return (
      ["HEAD", "config", "objects", "refs"].every((name) => names.has(name)) &&
      HEAD_CONTENT.test(readText(posix.join(entry, "HEAD"), MAX_POINTER_BYTES) ?? "") &&
      settings !== undefined &&
      isPlainConfig(settings) &&
      entries.every((one) => isPlainEntry(entry, one)) &&
      !holdsRepository(entry)
    );
  } catch {
    // What cannot be looked at is not known to be plain.
    return false;
  }
};
