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
  /** Lines that a match has after its first one, by its pattern. */
  readonly linesAfter: number;
  readonly signal: AbortSignal | undefined;
  /** For the file port. */
  readonly realPath: (path: string) => string;
  /** For the answer. */
  readonly shownPath: (path: string) => string;
  /** Whether a name that cannot be read through the file port is really there. */
  readonly exists: (raw: Buffer) => boolean;
}

/** The first match in each line of these files, in bytes from 1. */
export type ColumnFinder = (
  paths: readonly string[],
) => Promise<ReadonlyMap<string, ReadonlyMap<number, number>>>;

/** Whether the line of a hit was too long to be shown: the match may be in the part that was left out. */
const isCut = ({ snippet, line, firstLine }: ContentHit): boolean =>
  snippet.split("\n")[line - firstLine]?.endsWith("…") === true;

// Enough to keep the disk and the thread pool busy.
const READS = { maxRunning: 8, maxWaiting: Number.POSITIVE_INFINITY };

/** Reads the texts of hits through the file port, each file once. */
export const createSnippets = (source: SnippetSource) => {
  const { files, contextLines, linesAfter, signal } = source;
  const queue = createBoundedQueue(() => READS);

  const read = async (
    file: FileHits,
    lines: readonly number[],
    columns?: ReadonlyMap<number, number>,
  ): Promise<readonly ContentHit[]> => {
    const path = source.shownPath(file.path);
    if (file.raw !== undefined && !isUtf8(file.raw)) {
      return source.exists(file.raw)
        ? lines.map((line) => ({ path, line, snippet: "", firstLine: line }))
        : [];
    }
    const ranges = lines.map((line) => {
      const byte = columns?.get(line);
      return {
        firstLine: Math.max(1, line - contextLines),
        lastLine: line + linesAfter + contextLines,
        ...(byte === undefined ? {} : { focus: { line, byte: byte - 1 } }),
      };
    });
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

  return {
    /** The first hits of these files, in their order. `findColumns` is asked for the files whose long lines are cut. */
    page: async (
      sorted: readonly FileHits[],
      maxResults: number,
      findColumns: ColumnFinder,
    ): Promise<readonly ContentHit[]> => {
      const reads: Promise<{ file: FileHits; hits: readonly ContentHit[] }>[] = [];
      let left = maxResults;
      for (const file of sorted) {
        if (left <= 0) break;
        const lines = file.lines.slice(0, left);
        left -= lines.length;
        reads.push(queue.run(async () => ({ file, hits: await read(file, lines) })));
      }
      const page = await Promise.all(reads);
      const cut = page.filter(({ file, hits }) => file.raw === undefined && hits.some(isCut));
      if (cut.length === 0) return page.flatMap(({ hits }) => hits);
      const columns = await findColumns(cut.map(({ file }) => file.path));
      const again = page.map(async ({ file, hits }) => {
        const known = columns.get(file.path);
        if (known === undefined) return hits;
        return queue.run(() =>
          read(
            file,
            hits.map(({ line }) => line),
            known,
          ),
        );
      });
      return (await Promise.all(again)).flat();
    },
  };
};
