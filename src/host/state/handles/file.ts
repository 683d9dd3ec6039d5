import { lstatSync } from "node:fs";
import { LlmcError } from "../../../base/error.ts";
import { quoteForMessage } from "../../../base/text.ts";
import type { Files } from "../../read/files.ts";
import type { SliceBounds } from "../../read/line-slicer.ts";
import { CHUNK_BYTES, countNewlines, nextCharacter } from "./chunks.ts";

/** Tells a file from what it was or becomes, or undefined where there is nothing. For comparing, never for showing. */
export const versionOf = (realPath: string): string | undefined => {
  try {
    const { dev, ino, size, mtimeNs } = lstatSync(realPath, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}`;
  } catch {
    return undefined;
  }
};

export interface TextChunk {
  readonly text: string;
  readonly firstLine: number;
  readonly lines: number;
  readonly totalLines: number | undefined;
  readonly truncated: boolean;
  readonly endByte: number;
}

export const pastTheEnd = (chunk: number, totalBytes: number): LlmcError => {
  const count = Math.max(1, Math.ceil(totalBytes / CHUNK_BYTES));
  return new LlmcError(
    "invalid_args",
    `There is no chunk ${chunk}: this handle has ${count}, counted from 0.`,
    {
      hint: `Ask for a chunk up to ${count - 1}.`,
      details: { chunks: count },
    },
  );
};

const NEWLINE = 0x0a;
const PAGE_BYTES = 8 * 1024 * 1024;
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 32;

/** A line, and the byte of the text that it starts at. */
interface Mark {
  readonly line: number;
  readonly position: number;
}

const START: Mark = { line: 0, position: 0 };

/** How many lines the text has; the last one needs no newline. */
export const countLines = (utf8: Uint8Array): number =>
  countNewlines(utf8) + (utf8.length > 0 && utf8.at(-1) !== NEWLINE ? 1 : 0);

const tooLong = (source: string): LlmcError =>
  new LlmcError("file_too_large", `${quoteForMessage(source)} has a line of over ${MAX_LINE_BYTES} bytes.`, {
    hint: "It cannot be read by chunks; search in it instead.",
  });

/**
 * Reads a file's text by chunks through the port that reads it by lines, so that every read is judged and decoded the
 * same way. Remembers where lines start, so that the next chunk is found at once.
 */
export const createFileChunks = (
  files: Pick<Files, "readText">,
): ((source: string, version: string, chunk: number, signal?: AbortSignal) => Promise<TextChunk>) => {
  const known = new Map<string, Mark[]>();

  const marksOf = (source: string, version: string): Mark[] => {
    const key = `${version} ${source}`;
    const marks = known.get(key) ?? [];
    known.delete(key);
    known.set(key, marks);
    const oldest = known.keys().next().value;
    if (known.size > MAX_FILES && oldest !== undefined) known.delete(oldest);
    return marks;
  };

  return async (source, version, chunk, signal) => {
    const startAt = chunk * CHUNK_BYTES;
    const endAt = startAt + CHUNK_BYTES;
    const marks = marksOf(source, version);
    let { line, position } = marks.findLast((mark) => mark.position <= startAt) ?? START;
    let pageBytes = PAGE_BYTES;
    let firstLine = line;
    let totalBytes: number | undefined;
    let totalLines: number | undefined;
    const parts: Buffer[] = [];

    for (let isDone = false; !isDone; ) {
      const request = {
        offsetLines: line,
        maxLines: Number.MAX_SAFE_INTEGER,
        // More than is needed: slices end with a line, and the one at the border should be in it.
        maxBytes: Math.min(pageBytes, endAt + CHUNK_BYTES - position),
      };
      const slice = await files.readText(source, request, signal);
      const bytes = Buffer.from(slice.text);
      const isInsideLine = slice.truncated && bytes.at(-1) !== NEWLINE;
      // A character that starts at the last byte may have three more.
      if (isInsideLine && position + bytes.length < endAt + 4) {
        if (pageBytes >= MAX_LINE_BYTES) throw tooLong(source);
        pageBytes *= 2;
        continue;
      }
      const before = Math.max(0, startAt - position);
      if (position <= startAt) firstLine = line + countNewlines(bytes.subarray(0, before));
      parts.push(bytes.subarray(before));
      if (!slice.truncated) {
        totalBytes = position + bytes.length;
        totalLines = slice.totalLines;
      }
      line += slice.lines;
      position += bytes.length;
      isDone = !slice.truncated || isInsideLine || position >= endAt;
      if (!isInsideLine && position > (marks.at(-1)?.position ?? 0)) marks.push({ line, position });
    }

    if (totalBytes !== undefined && startAt >= totalBytes && chunk > 0) throw pastTheEnd(chunk, totalBytes);
    const all = Buffer.concat(parts);
    const start = nextCharacter(all, 0);
    const end = nextCharacter(all, Math.min(CHUNK_BYTES, all.length));
    const own = all.subarray(start, end);
    return {
      text: own.toString(),
      firstLine,
      lines: countLines(own),
      totalLines,
      truncated: totalBytes === undefined || startAt + end < totalBytes,
      endByte: startAt + end,
    };
  };
};

/** A file's text for a search, by lines, so that each piece is found at once. */
export const fileChunks = async function* (
  files: Pick<Files, "readText">,
  source: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  for (let offsetBytes = 0; ; ) {
    const request = {
      offsetLines: 0,
      offsetBytes,
      maxLines: Number.MAX_SAFE_INTEGER,
      maxBytes: MAX_LINE_BYTES,
    };
    const { text, truncated, endByte } = await files.readText(source, request, signal);
    yield Buffer.from(text);
    if (!truncated || endByte === offsetBytes) return;
    offsetBytes = endByte;
  }
};

/** The same interface as the stored payloads, over a file. */
export const fileReader = (
  files: Pick<Files, "readText">,
): {
  readonly lines: (
    row: { readonly source: string },
    bounds: SliceBounds,
    signal?: AbortSignal,
  ) => Promise<TextChunk>;
} => ({ lines: (row, bounds, signal) => files.readText(row.source, bounds, signal) });
