import { posix } from "node:path";
import { findBlankDirectories } from "../../host/os/blank-directories.ts";
import { createTreeWatch, type TreeChanges } from "../../host/os/watch-tree.ts";
import type { SourceFiles } from "../../host/search/source-files.ts";
import type { ListedRequest } from "./batch-indexer.ts";
import type { LoadedFile } from "./loaded-index.ts";

/** What changes on the disk mean for the index: files to index again, or a scan of everything. */
export type Changes = { readonly requests: readonly ListedRequest[] } | "everything";

/** Watches the directories of the indexed files. */
export interface WatchedTree {
  /** Watches the directories of these files, which are all that exist; true where it did not watch one of them before. */
  followAll(files: ReadonlyMap<string, unknown>): boolean;
  /** The same after single changes, without dropping directories. */
  follow(files: ReadonlyMap<string, unknown>): boolean;
  isComplete(): boolean;
  /** The changes that happened before the call. */
  takeChanges(
    files: ReadonlyMap<string, LoadedFile>,
    source: SourceFiles,
    signal?: AbortSignal,
  ): Promise<Changes>;
  /** Drops the events so far, since everything is about to be scanned. */
  dropEvents(): void;
  close(): void;
}

const MAX_DIRECTORIES = 10_000;
/** Long enough for the several steps in which an editor saves, short enough to be done before the next question. */
const QUIET_MS = 40;
/** More changes than this are a switch of branches: one scan of everything costs less. */
const MANY_FILES = 200;
const MANY_DIRECTORIES = 4;
const MAX_EMPTY = 500;

const IGNORE_FILES = new Set([".gitignore", ".ignore", ".rgignore"]);

/** Events arrive after the change that caused them, but within one turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

const pathIn = (workspace: string, absolute: string): string =>
  absolute.startsWith(`${workspace}/`) ? absolute.slice(workspace.length + 1) : absolute;

const directoriesOfFiles = (workspace: string, paths: Iterable<string>): Set<string> => {
  const directories = new Set([workspace]);
  for (const path of paths) {
    for (
      let at = posix.dirname(posix.resolve(workspace, path));
      !directories.has(at) && at !== "/";
      at = posix.dirname(at)
    ) {
      directories.add(at);
      // Directories above the other roots are not part of the workspace.
      if (!at.startsWith(`${workspace}/`)) break;
    }
  }
  return directories;
};

export const createWatchedTree = (workspace: string, onChanges: () => void): WatchedTree => {
  const watch = createTreeWatch({ onNews: onChanges, quietMs: QUIET_MS, maxDirectories: MAX_DIRECTORIES });
  // Directories without indexed files, empty or created since the last scan: the first file in them must be noticed.
  const emptyDirectories = new Set<string>();
  let followed: ReadonlySet<string> = new Set();

  const toPath = (absolute: string): string => pathIn(workspace, absolute);
  const directoriesOf = (files: ReadonlyMap<string, unknown>): Set<string> =>
    new Set([...directoriesOfFiles(workspace, files.keys()), ...emptyDirectories]);

  const followThese = (directories: ReadonlySet<string>): boolean => {
    followed = directories;
    return watch.follow(directories);
  };

  const followAll = (files: ReadonlyMap<string, unknown>): boolean => {
    emptyDirectories.clear();
    for (const blank of findBlankDirectories(directoriesOf(files))) emptyDirectories.add(blank);
    return followThese(directoriesOf(files));
  };

  /** The files of a directory that are new or have changed. */
  const compare = async (
    directory: string,
    isDeep: boolean,
    files: ReadonlyMap<string, LoadedFile>,
    source: SourceFiles,
    signal: AbortSignal | undefined,
  ): Promise<readonly ListedRequest[]> => {
    // A listing that starts at an ignored directory shows its files; one that starts above it does not.
    let from = directory;
    while (emptyDirectories.has(from)) from = posix.dirname(from);
    const { files: listed } = await source.list(signal, {
      path: from === workspace ? "." : toPath(from),
      deep: isDeep || from !== directory,
    });
    const below = `${toPath(directory)}/`;
    if (from !== directory && !listed.some(({ path }) => path.startsWith(below)))
      emptyDirectories.delete(directory);
    return listed
      .filter((file) => files.get(file.path)?.stamp !== file.stamp)
      .map((file) => ({ ...file, hash: files.get(file.path)?.hash || undefined }));
  };

  const interpret = async (
    { paths, isFlood }: TreeChanges,
    files: ReadonlyMap<string, LoadedFile>,
    source: SourceFiles,
    signal: AbortSignal | undefined,
  ): Promise<Changes> => {
    if (isFlood || paths.size > MANY_FILES) return "everything";
    const requests = new Map<string, ListedRequest>();
    const request = (file: ListedRequest): void => void requests.set(file.path, file);
    const directories = new Map<string, boolean>();
    for (const absolute of paths) {
      if (IGNORE_FILES.has(posix.basename(absolute))) return "everything";
      const path = toPath(absolute);
      const known = files.get(path);
      if (known !== undefined) {
        request({ path, size: known.size, stamp: known.stamp, hash: known.hash || undefined });
        continue;
      }
      const kind = await source.kindOf(path, signal);
      // A directory was moved away or in: all files below it are affected.
      if (followed.has(absolute) || kind === "dir") {
        for (const [other, { size, stamp, hash }] of files)
          if (other.startsWith(`${path}/`)) request({ path: other, size, stamp, hash: hash || undefined });
        if (kind === "dir" && emptyDirectories.size < MAX_EMPTY && !posix.basename(path).startsWith("."))
          emptyDirectories.add(absolute);
      }
      if (kind === undefined) continue;
      const parent = posix.dirname(absolute);
      directories.set(parent, kind === "dir" || directories.get(parent) === true);
    }
    if (directories.size > MANY_DIRECTORIES || requests.size > MANY_FILES) return "everything";
    // Watched before they are listed, so that files created after the listing are noticed.
    followThese(new Set([...followed, ...emptyDirectories]));
    for (const [directory, isDeep] of directories)
      for (const file of await compare(directory, isDeep, files, source, signal)) request(file);
    return { requests: [...requests.values()] };
  };

  return {
    followAll,
    // A directory that has lost its last file may get a new one.
    follow: (files) => followThese(new Set([...directoriesOf(files), ...followed])),
    isComplete: watch.isComplete,
    takeChanges: async (files, source, signal) => {
      await nextTurn();
      return watch.hasNews() ? interpret(watch.take(), files, source, signal) : { requests: [] };
    },
    dropEvents: () => void watch.take(),
    close: watch.close,
  };
};
