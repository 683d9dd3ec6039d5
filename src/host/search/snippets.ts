import { isUtf8 } from "node:buffer";
import { createBoundedQueue } from "../../base/bounded-queue.ts";
import type { Files } from "../read/files.ts";
import type { ContentHit } from "./contract.ts";
import { isRefusal } from "./lines.ts";

/** Hits of one file, as ripgrep tells them. */
export interface FileHits {
  /** Below the root; empty where the root is the file. */
  readonly path: string;
  /** The same in bytes, where they may not be UTF-8. */
  readonly raw: Buffer | undefined;
  readonly lines: number[];
}

export interface SnippetSource {
  readonly files: Pick<Files, "readLines">;
  readonly contextLines: number;
  readonly signal: AbortSignal | undefined;
  /** For the file port. */
  readonly realPath: (path: string) => string;
  /** For the answer. */
  readonly shownPath: (path: string) => string;
  /** Whether a name that cannot be read through the file port is really there. */
  readonly exists: (raw: Buffer) => boolean;
}

// Enough to keep the disk and the thread pool busy.
const READS = { maxRunning: 8, maxWaiting: Number.POSITIVE_INFINITY };

/** Reads the texts of hits through the file port, each file once. */
export const createSnippets = (source: SnippetSource) => {
  const { files, contextLines, signal } = source;
  const queue = createBoundedQueue(() => READS);
  const begun = new Map<
    FileHits,
    { readonly count: number; readonly hits: Promise<readonly ContentHit[]> }
  >();

  const read = async (file: FileHits, lines: readonly number[]): Promise<readonly ContentHit[]> => {
    const path = source.shownPath(file.path);
    if (file.raw !== undefined && !isUtf8(file.raw)) {
      return source.exists(file.raw)
        ? lines.map((line) => ({ path, line, snippet: "", firstLine: line }))
        : [];
    }
    const ranges = lines.map((line) => ({
      firstLine: Math.max(1, line - contextLines),
      lastLine: line + contextLines,
    }));
    try {
      const found = await files.readLines(source.realPath(file.path), ranges, signal);
      return lines.flatMap((line, i) => {
        const firstLine = ranges[i]?.firstLine ?? line;
        const texts = found.ranges[i] ?? [];
        const isThere = texts.length > line - firstLine;
        return isThere ? [{ path, line, snippet: texts.join("\n"), firstLine }] : [];
      });
    } catch (error) {
      if (isRefusal(error)) return [];
      throw error;
    }
  };

  const start = (file: FileHits, count: number): Promise<readonly ContentHit[]> => {
    const known = begun.get(file);
    if (known !== undefined && known.count >= count) return known.hits;
    const lines = file.lines.slice(0, count);
    const hits = queue.run(() => read(file, lines));
    // It may never be asked for; whoever asks gets the failure.
    hits.catch(() => {});
    begun.set(file, { count, hits });
    return hits;
  };

  return {
    /** Begins to read: it is likely to be asked for. */
    prefetch: (file: FileHits): void => {
      void start(file, file.lines.length);
    },
    /** The first hits of these files, in their order. */
    page: async (sorted: readonly FileHits[], maxResults: number): Promise<readonly ContentHit[]> => {
      const reads: Promise<readonly ContentHit[]>[] = [];
      let left = maxResults;
      for (const file of sorted) {
        if (left <= 0) break;
        const count = Math.min(left, file.lines.length);
        left -= count;
        reads.push(
          start(file, count).then((hits) => hits.filter(({ line }) => line <= (file.lines[count - 1] ?? 0))),
        );
      }
      return (await Promise.all(reads)).flat();
    },
  };
};
