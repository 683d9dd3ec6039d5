import { posix } from "node:path";
import { findBlankDirectories } from "../../host/os/blank-directories.ts";
import { createTreeWatch, type TreeChanges } from "../../host/os/watch-tree.ts";
import type { SourceFiles } from "../../host/search/source-files.ts";
import type { LoadedFile } from "./loaded-index.ts";
import type { ListedWanted } from "./look-many.ts";

/** What changes on the disk mean for the index: files to look at, or everything. */
export type News = { readonly wanted: readonly ListedWanted[] } | "everything";

/** Listens to the directories of the indexed files. */
export interface WatchedTree {
  /** Listens to where these files are, all of them that there are; true where it did not listen to all of that before. */
  followAll(files: ReadonlyMap<string, unknown>): boolean;
  /** The same after single changes. */
  follow(files: ReadonlyMap<string, unknown>): boolean;
  hasNews(): boolean;
  isComplete(): boolean;
  /** What has happened before it was asked. */
  take(files: ReadonlyMap<string, LoadedFile>, source: SourceFiles, signal?: AbortSignal): Promise<News>;
  /** Forgets what has happened: everything is about to be looked at. */
  forget(): void;
  close(): void;
}

const MAX_DIRECTORIES = 10_000;
/** Long enough for an editor's several steps, short enough to be there before the next question. */
const QUIET_MS = 40;
/** More than so many is a switch of branches: one look at everything costs less. */
const MANY_FILES = 200;
const MANY_DIRECTORIES = 4;
const MAX_YOUNG = 500;

const IGNORE_FILES = new Set([".gitignore", ".ignore", ".rgignore"]);

/** Events come after what caused them, but within a turn of the event loop, in which they are read. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

export const createWatchedTree = (workspace: string, onNews: () => void): WatchedTree => {
  const watch = createTreeWatch({ onNews, quietMs: QUIET_MS, maxDirectories: MAX_DIRECTORIES });
  // Directories without indexed files, empty or made while we listened: the first file in them must be noticed.
  const young = new Set<string>();
  let followed: ReadonlySet<string> = new Set();

  const toAbsolute = (path: string): string => posix.resolve(workspace, path);
  const toPath = (absolute: string): string =>
    absolute.startsWith(`${workspace}/`) ? absolute.slice(workspace.length + 1) : absolute;

  const directoriesOf = (files: ReadonlyMap<string, unknown>): Set<string> => {
    const directories = new Set([workspace]);
    for (const path of files.keys()) {
      for (
        let at = posix.dirname(toAbsolute(path));
        !directories.has(at) && at !== "/";
        at = posix.dirname(at)
      ) {
        directories.add(at);
        // Above the other roots nothing is ours.
        if (!at.startsWith(`${workspace}/`)) break;
      }
    }
    for (const path of young) directories.add(path);
    return directories;
  };

  const followThese = (directories: ReadonlySet<string>): boolean => {
    const hasMore = [...directories].some((directory) => !followed.has(directory));
    watch.follow(directories);
    followed = directories;
    return hasMore;
  };

  const followAll = (files: ReadonlyMap<string, unknown>): boolean => {
    young.clear();
    for (const blank of findBlankDirectories(directoriesOf(files))) young.add(blank);
    return followThese(directoriesOf(files));
  };

  /** The files of a directory as they are now: those that are new, and those that may be gone. */
  const compare = async (
    directory: string,
    isDeep: boolean,
    files: ReadonlyMap<string, LoadedFile>,
    source: SourceFiles,
    signal: AbortSignal | undefined,
  ): Promise<readonly ListedWanted[]> => {
    // Asked for itself, a directory is listed even where it is ignored: only one above it tells.
    let from = directory;
    while (young.has(from)) from = posix.dirname(from);
    const { files: listed } = await source.list(signal, {
      path: from === workspace ? "." : toPath(from),
      deep: isDeep || from !== directory,
    });
    const below = `${toPath(directory)}/`;
    if (from !== directory && !listed.some(({ path }) => path.startsWith(below))) young.delete(directory);
    return listed
      .filter((file) => files.get(file.path)?.stamp !== file.stamp)
      .map((file) => ({ ...file, hash: files.get(file.path)?.hash || undefined }));
  };

  const interpret = async (
    { paths, isFlood }: TreeChanges,
    files: ReadonlyMap<string, LoadedFile>,
    source: SourceFiles,
    signal: AbortSignal | undefined,
  ): Promise<News> => {
    if (isFlood || paths.size > MANY_FILES) return "everything";
    const wanted = new Map<string, ListedWanted>();
    const want = (file: ListedWanted): void => void wanted.set(file.path, file);
    const directories = new Map<string, boolean>();
    for (const absolute of paths) {
      if (IGNORE_FILES.has(posix.basename(absolute))) return "everything";
      const path = toPath(absolute);
      const known = files.get(path);
      if (known !== undefined) {
        want({ path, size: known.size, stamp: known.stamp, hash: known.hash || undefined });
        continue;
      }
      const kind = await source.kindOf(path, signal);
      // A directory that was moved away or in: what was or is below it counts.
      if (followed.has(absolute) || kind === "dir") {
        for (const [other, { size, stamp, hash }] of files)
          if (other.startsWith(`${path}/`)) want({ path: other, size, stamp, hash: hash || undefined });
        if (kind === "dir" && young.size < MAX_YOUNG && !posix.basename(path).startsWith("."))
          young.add(absolute);
      }
      if (kind === undefined) continue;
      const parent = posix.dirname(absolute);
      directories.set(parent, kind === "dir" || directories.get(parent) === true);
    }
    if (directories.size > MANY_DIRECTORIES || wanted.size > MANY_FILES) return "everything";
    // Before they are listed: what is made in them after that is then heard of.
    followThese(new Set([...followed, ...young]));
    for (const [directory, isDeep] of directories)
      for (const file of await compare(directory, isDeep, files, source, signal)) want(file);
    return { wanted: [...wanted.values()] };
  };

  return {
    followAll,
    // A directory that has lost its last file may get another.
    follow: (files) => followThese(new Set([...directoriesOf(files), ...followed])),
    hasNews: watch.hasNews,
    isComplete: watch.isComplete,
    take: async (files, source, signal) => {
      await nextTurn();
      return watch.hasNews() ? interpret(watch.take(), files, source, signal) : { wanted: [] };
    },
    forget: () => void watch.take(),
    close: watch.close,
  };
};
