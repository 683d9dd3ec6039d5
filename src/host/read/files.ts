import { type Dirent, lstatSync, type Stats } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { quoteForMessage } from "../../base/text.ts";
import { compileGlob } from "../../policy/globs.ts";
import { STATE_DIR, shownPath } from "../../policy/paths.ts";
import { createAccess } from "../reach/access.ts";
import type { CallerReach } from "../reach/reach.ts";
import type { DirectoryEntry, DirectoryListing, EntryType, Walk, WalkQuery } from "./entries.ts";
import { type LineRange, readLineRanges } from "./line-ranges.ts";
import { type ReadRequest, readContent } from "./read-content.ts";
import { walkTree } from "./walk.ts";

export interface FileStat {
  /** Bytes. */
  readonly size: number;
  /** Seconds since the epoch, with fraction. */
  readonly mtime: number;
  /** Permission bits in octal, such as "0644". */
  readonly mode: string;
  readonly type: EntryType;
}

/** A slice of a text file by lines, read without loading the file. */
export interface TextSlice {
  readonly text: string;
  /** Real path, relative to the workspace where it is inside it. */
  readonly path: string;
  /** Size of the whole file in bytes. */
  readonly sizeBytes: number;
  /** First line of the slice, counted from 0. */
  readonly firstLine: number;
  /** Lines in the slice. */
  readonly lines: number;
  /** Lines of the whole file, where the end was reached; undefined when reading stopped before it. */
  readonly totalLines: number | undefined;
  /** There is more after the slice. */
  readonly truncated: boolean;
  /** Bytes of the text up to the end of the slice: where a line that is cut goes on (`offsetBytes`). */
  readonly endByte: number;
  /** Of the whole file, where a survey was asked for and could be finished. */
  readonly sha256: string | undefined;
}

/** A caller's files: every method takes a path as the caller wrote it, and asks policy about the opened descriptor. */
export interface Files {
  readText(path: string, request: ReadRequest, signal?: AbortSignal): Promise<TextSlice>;
  list(
    path: string,
    signal?: AbortSignal,
    options?: { readonly details: boolean },
  ): Promise<DirectoryListing>;
  /** A tree, as deep as asked for; a glob matches names, or paths if it contains a slash. */
  walk(path: string, request: WalkQuery, signal?: AbortSignal): Promise<Walk>;
  stat(path: string, signal?: AbortSignal): Promise<FileStat & { readonly path: string }>;
  /** Several ranges of lines at once, long lines cut. Lines past the end are omitted. */
  readLines(path: string, ranges: readonly LineRange[], signal?: AbortSignal): Promise<LineRanges>;
}

export interface LineRanges {
  readonly path: string;
  /** In the order asked for, without line ends. */
  readonly ranges: readonly (readonly string[])[];
}

const typeOf = (thing: Dirent | Stats): EntryType => {
  if (thing.isFile()) return "file";
  if (thing.isDirectory()) return "dir";
  return thing.isSymbolicLink() ? "link" : "other";
};

/** Metadata of the entry itself; a link is not followed. */
const detailsOf = (path: string): DirectoryEntry["details"] => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : { size: stats.size, mtime: stats.mtimeMs / 1000 };
};

const byName = (a: DirectoryEntry, b: DirectoryEntry): number => (a.name < b.name ? -1 : 1);

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

const isDirectory = (requestedPath: string): LlmcError =>
  new LlmcError("is_directory", `${quoteForMessage(requestedPath)} is a directory.`, {
    hint: "List it instead.",
  });

const notADirectory = (requestedPath: string): LlmcError =>
  new LlmcError("not_a_directory", `${quoteForMessage(requestedPath)} is a file, not a directory.`, {
    hint: "Read it instead.",
  });

const binary = (requestedPath: string, sizeBytes: number): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(requestedPath)} is a binary file, ${sizeBytes} bytes.`, {
    hint: "Use stat for its size and time.",
  });

export const createFiles = (reach: CallerReach): Files => {
  const withLocated = createAccess(reach);

  const files: Files = {
    walk: (requestedPath, { fileGlob, ...request }, signal) =>
      walkTree(
        files.list,
        requestedPath,
        { ...request, matches: fileGlob === undefined ? undefined : compileGlob(fileGlob) },
        signal,
      ),

    readText: (requestedPath, request, signal) =>
      withLocated(requestedPath, signal, async (located, { rules }) => {
        const { realPath, stats } = located;
        if (stats.isDirectory()) throw isDirectory(requestedPath);
        const slice = await readContent(await located.openContent(), stats.size, request, signal);
        if (slice === "binary") throw binary(requestedPath, stats.size);
        return { ...slice, path: shownPath(realPath, rules.workspace), sizeBytes: stats.size };
      }),

    list: (requestedPath, signal, options) =>
      withLocated(requestedPath, signal, async (located, { rules }) => {
        if (!located.stats.isDirectory()) throw notADirectory(requestedPath);
        const found = await located.list();
        stopIfAborted(signal);
        // No tool reads it, and it changes with every call.
        const shown = found.filter(({ name }) => name !== STATE_DIR);
        const entries = shown.map((entry) => ({
          name: entry.name,
          type: typeOf(entry),
          ...(options?.details ? { details: detailsOf(`${located.at}/${entry.name}`) } : {}),
        }));
        return { path: shownPath(located.realPath, rules.workspace), entries: entries.sort(byName) };
      }),

    stat: (requestedPath, signal) =>
      withLocated(requestedPath, signal, ({ realPath, stats }, { rules }) => ({
        path: shownPath(realPath, rules.workspace),
        size: stats.size,
        mtime: stats.mtimeMs / 1000,
        mode: octal(stats.mode),
        type: typeOf(stats),
      })),

    readLines: (requestedPath, ranges, signal) =>
      withLocated(requestedPath, signal, async (located, { rules }) => {
        const { realPath, stats } = located;
        if (stats.isDirectory()) throw isDirectory(requestedPath);
        const found = await readLineRanges(await located.openContent(), stats.size, ranges, signal);
        if (found === "binary") throw binary(requestedPath, stats.size);
        return { path: shownPath(realPath, rules.workspace), ranges: found };
      }),
  };
  return files;
};
