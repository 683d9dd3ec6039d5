import type { EmbedderFiles } from "../../host/assets.ts";
import { createSourceFiles, type SourceFiles, type SourceRead } from "../../host/source-files.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { parseFile } from "../parse/parse-file.ts";
import { createParsers, type Parsers } from "../parse/parsers.ts";
import { type FileEntry, makeEntry } from "./file-entry.ts";
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

/** Reads files and makes what the index keeps of them. One per thread. */
export interface Looker {
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
      const { roots, denylist } = settings;
      source = {
        reach,
        files: createSourceFiles({
          workspace,
          roots: () => roots,
          denylist: () => denylist,
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

  const look = async (
    { path, hash }: Wanted,
    settings: IndexSettings,
    signal: AbortSignal | undefined,
    getParsers: () => Parsers | Promise<Parsers>,
  ): Promise<Look> => {
    const read = await files(settings).read(path, settings.maxFileBytes, signal);
    if (read.kind === "none" || read.kind === "unchanged") return { path, kind: "none" };
    if (read.kind !== "text") return { ...seen(path, read), kind: read.kind };
    if (read.hash === hash) return { ...seen(path, read), kind: "same" };
    const parsed = await parseFile({ path, text: read.text }, await getParsers());
    const entry = makeEntry(path, read.text, parsed, embedder);
    return { ...seen(path, read), kind: "read", hash: read.hash, entry };
  };

  return {
    files,
    look: (wanted, settings, signal) =>
      look(wanted, settings, signal, () => {
        parsers ??= createParsers();
        return parsers;
      }),
    lookPlainly: (path, reason, settings) =>
      look({ path, hash: undefined }, settings, undefined, () => refusing(reason)),
    close: () => void parsers?.then((made) => made.close()),
  };
};
