import type { Files } from "../read/files.ts";
import { versionOf } from "../state/handles/file.ts";
import { isRefusal, missingLine, type StoredHit } from "./lines.ts";
import type { FileHits } from "./snippets.ts";

/** Reading the texts of all hits stops here; the hits after that are stored as references. */
const PAYLOAD_MS = 1500;
/** Hits that are stored with their texts: more of them take seconds, and nobody reads as far. */
const MAX_WITH_TEXT = 10_000;

/** Snippets of one file's hits that do not overlap: a line belongs to the hit before it, unless it is one. */
const ownRanges = (lines: readonly number[], contextLines: number, linesAfter: number) => {
  let shownTo = 0;
  return lines.map((line, i) => {
    const firstLine = Math.max(1, line - contextLines, Math.min(line, shownTo + 1));
    const next = lines[i + 1] ?? Number.MAX_SAFE_INTEGER;
    const lastLine = Math.max(line, Math.min(line + linesAfter + contextLines, next - 1));
    shownTo = lastLine;
    return { firstLine, lastLine };
  });
};

const storedHit = (hit: StoredHit): string => JSON.stringify(hit);

export interface StoredSource {
  readonly files: Pick<Files, "readLines">;
  /** All hits, also those that are not held. */
  readonly total: number;
  readonly contextLines: number;
  readonly linesAfter: number;
  readonly realPath: (path: string) => string;
  readonly shown: (path: string) => string;
  readonly exists: (raw: Buffer) => boolean;
  readonly signal: AbortSignal | undefined;
}

/** The hits of one file with what was found; without texts where it cannot be read, or time is up. */
const storedHits = async (
  { path, lines }: FileHits,
  isLate: boolean,
  { files, contextLines, linesAfter, realPath, shown, signal }: StoredSource,
): Promise<string[]> => {
  if (lines.length === 0) return [];
  const shownFile = shown(path);
  const version = isLate ? undefined : versionOf(realPath(path));
  if (version === undefined) return lines.map((line) => storedHit({ path: shownFile, line }));
  const ranges = ownRanges(lines, contextLines, linesAfter);
  try {
    const found = await files.readLines(realPath(path), ranges, signal);
    return lines.map((line, i) => {
      const first = ranges[i]?.firstLine ?? line;
      const snippet = (found.ranges[i] ?? []).join("\n");
      return storedHit({ path: shownFile, line, first, snippet, version });
    });
  } catch (error) {
    if (isRefusal(error)) return [];
    throw error;
  }
};

/** All hits as a handle keeps them: what was found is what is read later. */
export const storedLines = async function* (
  sorted: readonly FileHits[],
  source: StoredSource,
): AsyncGenerator<string> {
  const deadline = performance.now() + PAYLOAD_MS;
  let stored = 0;
  for (const file of sorted) {
    const isLate = file.raw !== undefined || performance.now() > deadline;
    const room = isLate ? 0 : Math.max(0, MAX_WITH_TEXT - stored);
    stored += file.lines.length;
    if (file.raw !== undefined && !source.exists(file.raw)) continue;
    const lines = [
      ...(await storedHits({ ...file, lines: file.lines.slice(0, room) }, false, source)),
      ...(await storedHits({ ...file, lines: file.lines.slice(room) }, true, source)),
    ];
    if (lines.length > 0) yield lines.join("\n");
  }
  if (stored < source.total) yield missingLine(source.total - stored, "hits");
};
