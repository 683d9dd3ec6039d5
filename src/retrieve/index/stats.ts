import type { FileReason, IndexStats } from "./index-status.ts";
import type { LoadedFile } from "./loaded-index.ts";

type FileStats = Pick<IndexStats, "files" | "bytes" | "languages" | "fallbacks" | "skipped">;

/** Paths that are listed; the rest is only counted. */
const MAX_NAMED = 20;

const byPath = (a: FileReason, b: FileReason): number => (a.path < b.path ? -1 : 1);

export const statsOf = (files: ReadonlyMap<string, LoadedFile>): FileStats => {
  const languages = new Map<string, { files: number; chunks: number }>();
  const fallbacks: FileReason[] = [];
  const large: FileReason[] = [];
  let indexed = 0;
  let bytes = 0;
  let binary = 0;
  for (const { path, state, size, language, fallback, chunkIds } of files.values()) {
    if (state === "binary") binary++;
    else if (state === "large") large.push({ path, reason: `${size} bytes` });
    if (fallback !== null) fallbacks.push({ path, reason: fallback });
    if (state !== "indexed") continue;
    indexed++;
    bytes += size;
    const known = languages.get(language) ?? { files: 0, chunks: 0 };
    languages.set(language, { files: known.files + 1, chunks: known.chunks + chunkIds.length });
  }
  return {
    files: indexed,
    bytes,
    languages: [...languages]
      .map(([language, counts]) => ({ language, ...counts }))
      .sort((a, b) => b.files - a.files || (a.language < b.language ? -1 : 1)),
    fallbacks: { total: fallbacks.length, first: fallbacks.sort(byPath).slice(0, MAX_NAMED) },
    skipped: { binary, large: large.length, first: large.sort(byPath).slice(0, MAX_NAMED) },
  };
};
