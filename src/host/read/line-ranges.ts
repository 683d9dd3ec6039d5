import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { ellipsize } from "../../base/text.ts";
import { createTranscoder, readChunk, sniff } from "./text-slice.ts";

/** Lines of a file, counted from 1, both ends included. */
export interface LineRange {
  readonly firstLine: number;
  readonly lastLine: number;
}

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);

/** Characters of a line that are shown; more of a minified file helps nobody. */
const MAX_LINE_CHARS = 200;
// Four bytes a character at most, and one character more, so that what was cut here is seen to be too long.
const MAX_LINE_BYTES = 4 * (MAX_LINE_CHARS + 1);

const shorten = (line: Buffer): string => ellipsize(line.toString("utf8").replace(/\r$/, ""), MAX_LINE_CHARS);

/** The numbers that are wanted, in order and once each: ranges may overlap. */
const wantedLines = (ranges: readonly LineRange[]): readonly number[] => {
  const wanted = new Set<number>();
  for (const { firstLine, lastLine } of ranges) for (let n = firstLine; n <= lastLine; n++) wanted.add(n);
  return [...wanted].sort((a, b) => a - b);
};

/** Takes single lines out of UTF-8 that comes in pieces; holds what it took, and the beginning of one line more. */
const createLinePicker = (wanted: readonly number[]) => {
  const taken = new Map<number, string>();
  let next = 0;
  let line = 1;
  let begun: Buffer = NOTHING;

  const keep = (bytes: Buffer): void => {
    taken.set(line, shorten(bytes));
    begun = NOTHING;
    next++;
  };

  return {
    taken,
    /** Whether anything is still wanted. */
    push: (utf8: Buffer): boolean => {
      for (let at = 0; at < utf8.length && next < wanted.length; ) {
        const newline = utf8.indexOf(NEWLINE, at);
        const end = newline < 0 ? utf8.length : newline;
        if (line === wanted[next]) {
          const piece = utf8.subarray(at, Math.min(end, at + MAX_LINE_BYTES - begun.length));
          // A copy: the memory behind the piece is used again for the next one.
          const soFar = begun.length === 0 && newline >= 0 ? piece : Buffer.concat([begun, piece]);
          if (newline >= 0) keep(soFar);
          else begun = soFar;
        }
        if (newline < 0) break;
        line++;
        at = newline + 1;
      }
      return next < wanted.length;
    },
    finish: (): void => {
      if (begun.length > 0) keep(begun);
    },
  };
};

/**
 * Several ranges of lines in one pass, which stops after the last of them. Long lines are cut; what lies past the end
 * of the file is left out, so a range may come back shorter or empty.
 */
export const readLineRanges = async (
  fd: number,
  sizeBytes: number,
  ranges: readonly LineRange[],
  signal: AbortSignal | undefined,
): Promise<readonly (readonly string[])[] | "binary"> => {
  const picker = createLinePicker(wantedLines(ranges));
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, sizeBytes + 1));
  let transcode: ReturnType<typeof createTranscoder> | undefined;
  for (let position = 0; ; ) {
    const count = await readChunk(fd, buffer, position);
    stopIfAborted(signal);
    position += count;
    const isAtEnd = count === 0 || (count < buffer.length && position >= sizeBytes);
    const chunk = buffer.subarray(0, count);
    if (transcode === undefined) {
      const form = sniff(chunk);
      if (form === "binary") return "binary";
      transcode = createTranscoder(form);
    }
    if (!picker.push(transcode(chunk, isAtEnd))) break;
    if (isAtEnd) {
      picker.finish();
      break;
    }
  }
  return ranges.map(({ firstLine, lastLine }) => {
    const lines: string[] = [];
    for (let n = firstLine; n <= lastLine; n++) {
      const text = picker.taken.get(n);
      if (text !== undefined) lines.push(text);
    }
    return lines;
  });
};
