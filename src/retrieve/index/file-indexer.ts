import { type CallerReach, createReach } from "../../host/reach/reach.ts";
import { createWithheldFiles } from "../../host/reach/withheld-files.ts";
import { createSourceFiles, type SourceFiles } from "../../host/search/source-files.ts";
import { createParsers, type Parsers } from "../../syntax/parsers.ts";
import type { Embedder } from "../embed/embedder.ts";
import { type FileEntry, makeEntry } from "./file-entry.ts";
import { cutWithoutParsing, type ParsedFile, parseFile, type SourceFile } from "./parse-file.ts";
import { type IndexSettings, MAX_FILES, reachOf } from "./settings.ts";

/** The result of indexing one file. Plain data: it is sent between threads. */
export type FileResult =
  /** The file does not exist, or may not be shown. */
  | { readonly path: string; readonly kind: "missing" }
  | (FileStatus & { readonly kind: "binary" | "large" | "unreadable" })
  /** The file crashes the thread that reads it. */
  | (FileStatus & { readonly kind: "failed"; readonly reason: string })
  /** The content is already indexed. */
  | (FileStatus & { readonly kind: "unchanged" })
  | (FileStatus & { readonly kind: "parsed"; readonly hash: string; readonly entry: FileEntry });

interface FileStatus {
  readonly path: string;
  readonly size: number;
  /** Empty where it cannot be trusted, because the file was written a moment ago. */
  readonly stamp: string;
}

export interface FileRequest {
  readonly path: string;
  /** Of the content that is indexed; undefined: parse the file in any case. */
  readonly hash: string | undefined;
}

/** Reads files and makes their index entries. One per thread. */
export const createFileIndexer = (workspace: string, embedder: Embedder) => {
  let parsers: Promise<Parsers> | undefined;
  let source: { readonly key: string; readonly reach: CallerReach; readonly files: SourceFiles } | undefined;

  const sourceOf = (settings: IndexSettings): NonNullable<typeof source> => {
    const key = reachOf(settings);
    if (source?.key === key) return source;
    const { roots, denylist, closed = [], withheldFiles = [] } = settings;
    const reach = createReach({
      workspace,
      roots: () => roots,
      denylist: () => denylist,
      obeyedPaths: () => ({ user: closed }),
      withheldFiles: createWithheldFiles(withheldFiles),
    });
    source = { key, reach, files: createSourceFiles({ reach, maxFiles: MAX_FILES }) };
    return source;
  };

  const files = (settings: IndexSettings): SourceFiles => sourceOf(settings).files;

  const indexWith = async (
    parse: (source: SourceFile) => ParsedFile | Promise<ParsedFile>,
    { path, hash }: FileRequest,
    settings: IndexSettings,
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<FileResult> => {
    const read = await files(settings).read(path, settings.maxFileBytes, signal);
    if (read.kind === "none" || read.kind === "unchanged") return { path, kind: "missing" };
    const status: FileStatus = { path, size: read.size, stamp: read.isRacy ? "" : read.stamp };
    if (read.kind !== "text") return { ...status, kind: read.kind };
    if (read.hash === hash) return { ...status, kind: "unchanged" };
    if (read.size > maxBytes) return { ...status, kind: "large" };
    const { text } = read;
    const source = { path, text };
    const entry = makeEntry(source, await parse(source), embedder);
    return { ...status, kind: "parsed", hash: read.hash, entry };
  };

  const parse = async (source: SourceFile): Promise<ParsedFile> => {
    parsers ??= createParsers();
    return parseFile(source, await parsers);
  };

  return {
    files,
    /** What of the workspace may be read. */
    reach: (settings: IndexSettings): CallerReach => sourceOf(settings).reach,
    /** A changed file over `maxBytes` is not parsed, and the result says that it is large. */
    index: (
      request: FileRequest,
      settings: IndexSettings,
      signal?: AbortSignal,
      maxBytes = settings.maxFileBytes,
    ): Promise<FileResult> => indexWith(parse, request, settings, maxBytes, signal),
    /** Cuts the file into plain windows of lines, where parsing it ends the thread or does not end. */
    indexWithoutParsing: (path: string, reason: string, settings: IndexSettings): Promise<FileResult> =>
      indexWith(
        (source) => cutWithoutParsing(source, reason),
        { path, hash: undefined },
        settings,
        settings.maxFileBytes,
      ),
    close: (): void => void parsers?.then((made) => made.close()),
  };
};

export type FileIndexer = ReturnType<typeof createFileIndexer>;
