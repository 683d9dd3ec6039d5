import type { Dirent, Stats } from "node:fs";
import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import { compileDenylist } from "../policy/denylist.ts";
import { judgeReal, judgeWritten, pathDenied, resolveWords, shownPath } from "../policy/paths.ts";
import { explainFailure, type Surroundings, translate } from "./explain-failure.ts";
import { canLocateByDescriptor, createLocateByDescriptor } from "./locate-by-descriptor.ts";
import { locateByName } from "./locate-by-name.ts";
import type { Locate, Located } from "./located.ts";
import { cacheByList, createPathRules } from "./path-rules.ts";
import { stopIfAborted } from "./stop-if-aborted.ts";
import { readTextSlice } from "./text-slice.ts";
import { findTail, surveyContent } from "./text-survey.ts";

/** What kind of thing a directory entry or path is. */
export type EntryType = "file" | "dir" | "link" | "other";

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
  /** Of the whole file, where a survey was asked for and could be finished. */
  readonly sha256: string | undefined;
}

export interface ReadRequest {
  readonly offsetLines: number;
  readonly maxLines: number;
  readonly maxBytes: number;
  /** The last lines instead of those after the offset. */
  readonly tailLines?: number | undefined;
  /** Hash and count the whole file too, for at most as many milliseconds. */
  readonly surveyMs?: number | undefined;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly type: EntryType;
}

export interface DirectoryListing {
  readonly path: string;
  /** Sorted by name, directories and files together. */
  readonly entries: readonly DirectoryEntry[];
}

/** A caller's files: every method takes the caller's own words for a path and asks policy on the opened descriptor. */
export interface Files {
  readText(path: string, request: ReadRequest, signal?: AbortSignal): Promise<TextSlice>;
  list(path: string, signal?: AbortSignal): Promise<DirectoryListing>;
  stat(path: string, signal?: AbortSignal): Promise<FileStat & { readonly path: string }>;
}

export interface FilesOptions {
  readonly workspace: string;
  /** As configured: relative to the workspace or absolute. Asked on every call, since configuration is hot. */
  readonly roots: () => readonly string[];
  /** Globs of names whose content is withheld. Asked on every call. */
  readonly denylist: () => readonly string[];
  /** Left out: the best way this machine has. */
  readonly locate?: Locate;
}

const typeOf = (thing: Dirent | Stats): EntryType => {
  if (thing.isFile()) return "file";
  if (thing.isDirectory()) return "dir";
  return thing.isSymbolicLink() ? "link" : "other";
};

const byName = (a: DirectoryEntry, b: DirectoryEntry): number => (a.name < b.name ? -1 : 1);

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

const isDirectory = (words: string): LlmcError =>
  new LlmcError("is_directory", `${quoteForMessage(words)} is a directory.`, { hint: "List it instead." });

const notADirectory = (words: string): LlmcError =>
  new LlmcError("not_a_directory", `${quoteForMessage(words)} is a file, not a directory.`, {
    hint: "Read it instead.",
  });

const binary = (words: string, sizeBytes: number): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(words)} is a binary file, ${sizeBytes} bytes.`, {
    hint: "Use stat for its size and time.",
  });

export const createFiles = (options: FilesOptions): Files => {
  const currentRules = createPathRules(options.workspace, options.roots);
  const currentDenylist = cacheByList(options.denylist, compileDenylist);
  const locate = options.locate ?? (canLocateByDescriptor() ? createLocateByDescriptor() : locateByName);

  const look = (): Surroundings => {
    const rules = currentRules();
    const denies = currentDenylist();
    const bases = [rules.workspace, ...rules.roots];
    return { rules, locate, isWithheld: (realPath) => denies(realPath, bases) };
  };

  /** The only way to anything: what `use` gets was judged, and is held by a descriptor until it is done. */
  const withLocated = async <T>(
    words: string,
    signal: AbortSignal | undefined,
    use: (located: Located, around: Surroundings) => T | Promise<T>,
  ): Promise<T> => {
    stopIfAborted(signal);
    const around = look();
    const { rules } = around;
    const path = resolveWords(words, rules.workspace);
    const refusal = judgeWritten(path, rules);
    if (refusal !== undefined) throw pathDenied(words, refusal, rules);
    const judge = (realPath: string): void => {
      const reason = judgeReal(realPath, rules);
      if (reason !== undefined) throw pathDenied(words, reason, rules);
    };
    const located = await locate(path, judge).catch(async (error: unknown) => {
      throw await explainFailure(error, words, path, around);
    });
    try {
      stopIfAborted(signal);
      if (!located.stats.isFile() && !located.stats.isDirectory()) throw pathDenied(words, "kind", rules);
      return await use(located, around);
    } catch (error) {
      throw translate(error, words);
    } finally {
      located.close();
    }
  };

  return {
    readText: (words, request, signal) =>
      withLocated(words, signal, async (located, { rules, isWithheld }) => {
        const { realPath, stats } = located;
        if (stats.isDirectory()) throw isDirectory(words);
        if (isWithheld(realPath)) throw pathDenied(words, "denylist", rules);
        const fd = await located.openContent();
        const { tailLines, surveyMs, ...bounds } = request;
        const from =
          tailLines === undefined ? 0 : await findTail(fd, stats.size, tailLines, request.maxBytes, signal);
        const taken = tailLines === undefined ? bounds : { ...bounds, offsetLines: 0, maxLines: tailLines };
        const slice = await readTextSlice(fd, stats.size, taken, signal, from);
        if (slice === "binary") throw binary(words, stats.size);
        const survey = surveyMs === undefined ? undefined : await surveyContent(fd, surveyMs, signal);
        const totalLines = survey?.totalLines ?? (from === 0 ? slice.totalLines : undefined);
        return {
          ...slice,
          path: shownPath(realPath, rules.workspace),
          sizeBytes: stats.size,
          firstLine:
            tailLines === undefined ? request.offsetLines : Math.max(0, (totalLines ?? 0) - slice.lines),
          totalLines,
          sha256: survey?.sha256,
        };
      }),

    list: (words, signal) =>
      withLocated(words, signal, async (located, { rules }) => {
        if (!located.stats.isDirectory()) throw notADirectory(words);
        const found = await located.list();
        stopIfAborted(signal);
        const entries = found.map((entry) => ({ name: entry.name, type: typeOf(entry) }));
        return { path: shownPath(located.realPath, rules.workspace), entries: entries.sort(byName) };
      }),

    stat: (words, signal) =>
      withLocated(words, signal, ({ realPath, stats }, { rules }) => ({
        path: shownPath(realPath, rules.workspace),
        size: stats.size,
        mtime: stats.mtimeMs / 1000,
        mode: octal(stats.mode),
        type: typeOf(stats),
      })),
  };
};
