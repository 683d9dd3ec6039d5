import { type Dirent, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { posix } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { IGNORE_NAMES } from "../../policy/ignore-names.ts";
import { insideRoots, shownPath } from "../../policy/paths.ts";
import { readOwnFile } from "../own-files/read-own-file.ts";
import type { Reach } from "../reach/reach.ts";

/*
 * ripgrep opens whatever has the name of an ignore file: it would wait for a FIFO without end, and read an endless file until
 * memory runs out. So they are checked before a search, and again where one makes no progress or dies.
 */

/** Read for the ignore file of the repository that a folder is the top of. */
const GIT_NAMES = [".git", ".git/info/exclude", ".git/commondir"];
const MAX_POINTER_BYTES = 4096;

/** ripgrep would take seconds for one as large. */
const MAX_BYTES = 4 * 1024 * 1024;

// A larger tree is not searched to its end.
const MAX_FOLDERS = 200_000;
const MAX_SCAN_MS = 10_000;

/** False where it is missing, or a folder, which ripgrep skips. A link to a regular file is fine. */
const isUnreadable = (path: string): boolean => {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isDirectory()) return false;
    return !stats.isFile() || stats.size > MAX_BYTES;
  } catch {
    // A loop of links, or something that we may not read: ripgrep skips it as well.
    return false;
  }
};

/** The path in a file of git's, as ripgrep reads it, which is less strict than git; undefined where there is none. */
const readPointer = (path: string, prefix: string): string | undefined => {
  try {
    const [line = ""] = readOwnFile(path, { maxBytes: MAX_POINTER_BYTES }).toString().split("\n");
    return line.startsWith(prefix) ? line.slice(prefix.length).trim() : undefined;
  } catch {
    return undefined;
  }
};

const follow = (folder: string, path: string): string => (path.startsWith("/") ? path : `${folder}/${path}`);

/** Of a linked work tree or a submodule, whose `.git` is a file that names a folder, which may name another. */
const isUnreadableElsewhere = (folder: string): boolean => {
  const target = readPointer(`${folder}/.git`, "gitdir: ");
  if (target === undefined) return false;
  const gitDir = follow(folder, target);
  if (isUnreadable(`${gitDir}/commondir`)) return true;
  const common = readPointer(`${gitDir}/commondir`, "");
  return isUnreadable(`${common === undefined ? gitDir : follow(gitDir, common)}/info/exclude`);
};

const unreadableIn = (folder: string): string | undefined =>
  [...IGNORE_NAMES, ...GIT_NAMES].find((name) => isUnreadable(`${folder}/${name}`)) ??
  (isUnreadableElsewhere(folder) ? ".git" : undefined);

const refused = (where: string): LlmcError =>
  new LlmcError(
    "unavailable",
    `The search cannot obey the ignore file ${where}: it is not a regular file, or over 4 MiB.`,
    { hint: "Remove it, or search without ignore files.", retryable: false, details: { field: where } },
  );

/**
 * Throws for an ignore file at or below a search root that is a link to what its caller may not read: ripgrep would obey it,
 * and what a search leaves out would show its lines.
 */
export const refuseClosedIgnoreFiles = (root: string, { rules, closedIgnoreLinks }: Reach): void => {
  const found = closedIgnoreLinks().find((link) => insideRoots(link, [root]));
  if (found === undefined) return;
  const where = quoteForMessage(shownPath(found, rules.workspace));
  throw new LlmcError(
    "unavailable",
    `The search cannot obey the ignore file ${where}: it is a link to a file that is withheld or outside the allowed roots.`,
    { hint: "Remove it, or search without ignore files.", retryable: false, details: { field: where } },
  );
};

/** Throws for such a file in the search root (a real path) or above it, where ripgrep looks too. */
export const refuseUnreadableAbove = (root: string): void => {
  for (let folder = root; ; folder = posix.dirname(folder)) {
    const found = unreadableIn(folder === "/" ? "" : folder);
    if (found !== undefined)
      throw refused(
        folder === root ? quoteForMessage(found) : `${quoteForMessage(found)} above the search root`,
      );
    if (folder === "/") return;
  }
};

const entriesOf = (folder: string): Promise<readonly Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch(() => []);

/** Looks for such a file anywhere below `at`; gives the error to end the search with, or undefined. */
export const findUnreadableBelow = async (
  at: string,
  signal: AbortSignal,
): Promise<LlmcError | undefined> => {
  const deadline = performance.now() + MAX_SCAN_MS;
  const waiting = [""];
  for (let seen = 0; seen < waiting.length && seen < MAX_FOLDERS; seen++) {
    const below = waiting[seen] ?? "";
    if (signal.aborted || performance.now() > deadline) return undefined;
    const entries = await entriesOf(`${at}/${below}`);
    const isMarked = entries.some(({ name }) => name === ".git" || IGNORE_NAMES.includes(name));
    const found = isMarked ? unreadableIn(`${at}/${below}`) : undefined;
    if (found !== undefined) return refused(quoteForMessage(`${below}${found}`));
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith(".")) waiting.push(`${below}${entry.name}/`);
  }
  return undefined;
};
