import type { EmbedderFiles } from "../../host/os/assets.ts";
import { createWithheldFiles } from "../../host/reach/withheld-files.ts";
import { createSourceFiles, type SourceFiles, type SourceRead } from "../../host/search/source-files.ts";
import { NO_SYMBOLS } from "../../symbols/extract/file-symbols.ts";
import { extractSymbols } from "../../symbols/extract-symbols.ts";
import { type SentTree, sendTree } from "../../symbols/sent-tree.ts";
import { createParsers, type Parsers } from "../../syntax/parsers.ts";
import { readColumns } from "../../syntax/tree-columns.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { type FileEntry, makeEntry, type UnweighedFile, type WeighedFile, weighFile } from "./file-entry.ts";
import { parseFile } from "./parse-file.ts";
import { type IndexSettings, MAX_FILES, reachOf } from "./settings.ts";

/** What a look at one file on the disk gave. Plain data. */
export type Look =
  /** Not there, or nothing that may be shown. */
  | { readonly path: string; readonly kind: "none" }
  | (Seen & { readonly kind: "binary" | "large" })
  /** It brings down whatever reads it. */
  | (Seen & { readonly kind: "failed"; readonly reason: string })
  /** The content is what is indexed already. */
  | (Seen & { readonly kind: "same" })
  | (Seen & { readonly kind: "read"; readonly hash: string; readonly entry: FileEntry });

interface Seen {
  readonly path: string;
  readonly size: number;
  /** Empty where it cannot be trusted: the file was written a moment ago. */
  readonly stamp: string;
}

export interface Wanted {
  readonly path: string;
  /** Of the content that is indexed; undefined: parse it in any case. */
  readonly hash: string | undefined;
}

/** A look that is whole but for what is made without its tree. */
export interface HalfLook extends UnweighedFile {
  finish(weighed: WeighedFile): Look;
}

/** Reads files and makes what the index keeps of them. One per thread. */
export interface Looker {
  /** The first half: reads and parses. */
  begin(wanted: Wanted, settings: IndexSettings, signal?: AbortSignal): Promise<Look | HalfLook>;
  /** The second half. */
  weigh(half: HalfLook): Look;
  look(wanted: Wanted, settings: IndexSettings, signal?: AbortSignal): Promise<Look>;
  /** Cut into plain windows of lines without parsing, for a file whose parser brings the thread down. */
  lookPlainly(path: string, reason: string, settings: IndexSettings): Promise<Look>;
  files(settings: IndexSettings): SourceFiles;
  close(): void;
}

const refusing = (reason: string): Parsers => ({ parse: () => Promise.resolve({ reason }), close: () => {} });

export const createLooker = (workspace: string, embedderFiles: EmbedderFiles): Looker => {
  const embedder = createStaticEmbedder(embedderFiles);
  let parsers: Promise<Parsers> | undefined;
  let source: { readonly reach: string; readonly files: SourceFiles } | undefined;

  const files = (settings: IndexSettings): SourceFiles => {
    const reach = reachOf(settings);
    if (source?.reach !== reach) {
      const { roots, denylist, closed = [], withheldFiles = [] } = settings;
      source = {
        reach,
        files: createSourceFiles({
          workspace,
          roots: () => roots,
          denylist: () => denylist,
          places: () => ({ user: closed }),
          withheldFiles: createWithheldFiles(withheldFiles),
          maxFiles: MAX_FILES,
        }),
      };
    }
    return source.files;
  };

  const seen = (path: string, read: Exclude<SourceRead, { readonly kind: "none" | "unchanged" }>): Seen => ({
    path,
    size: read.size,
    stamp: read.isRacy ? "" : read.stamp,
  });

  const begin = async (
    { path, hash }: Wanted,
    settings: IndexSettings,
    signal: AbortSignal | undefined,
    getParsers: () => Parsers | Promise<Parsers>,
    symbolsLater: boolean,
  ): Promise<Look | HalfLook> => {
    const read = await files(settings).read(path, settings.maxFileBytes, signal);
    if (read.kind === "none" || read.kind === "unchanged") return { path, kind: "none" };
    if (read.kind !== "text") return { ...seen(path, read), kind: read.kind };
    if (read.hash === hash) return { ...seen(path, read), kind: "same" };
    const { text } = read;
    let tree: SentTree | undefined;
    const keepTree: typeof extractSymbols = (...of) => {
      tree = sendTree(...of, readColumns);
      return NO_SYMBOLS;
    };
    const parsed = await parseFile(
      { path, text },
      await getParsers(),
      symbolsLater ? keepTree : extractSymbols,
    );
    return {
      path,
      chunks: parsed.chunks,
      tree,
      finish: (weighed) => ({
        ...seen(path, read),
        kind: "read",
        hash: read.hash,
        entry: makeEntry(text, parsed, weighed),
      }),
    };
  };

  const weigh = (half: HalfLook): Look => half.finish(weighFile(half, embedder));
  const whole = (look: Look | HalfLook): Look => ("finish" in look ? weigh(look) : look);
  const ownParsers = (): Promise<Parsers> => {
    parsers ??= createParsers();
    return parsers;
  };

  return {
    files,
    begin: (wanted, settings, signal) => begin(wanted, settings, signal, ownParsers, true),
    weigh,
    look: async (wanted, settings, signal) => whole(await begin(wanted, settings, signal, ownParsers, false)),
    lookPlainly: async (path, reason, settings) =>
      whole(await begin({ path, hash: undefined }, settings, undefined, () => refusing(reason), false)),
    close: () => void parsers?.then((made) => made.close()),
  };
};
