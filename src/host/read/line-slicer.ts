import { isUtf8 } from "node:buffer";
import { countLines, countNewlines, NEWLINE, nextCharacter } from "../../base/utf8.ts";

export interface SliceBounds {
  readonly offsetLines: number;
  /** Bytes of the text to skip, before any lines: how a line that is too long for a slice is read on. */
  readonly offsetBytes?: number | undefined;
  readonly maxLines: number;
  readonly maxBytes: number;
  /** Ends at the bytes and not with a line; a character belongs to the slice that it starts in. */
  readonly isExact?: boolean | undefined;
}

export interface LineSlice {
  readonly text: string;
  readonly lines: number;
  readonly totalLines: number | undefined;
  readonly truncated: boolean;
  /** Number of the line that the slice starts in, from 0. */
  readonly firstLine: number;
  /** Bytes of the text up to the end of the slice. */
  readonly endByte: number;
}

const NOTHING = Buffer.alloc(0);

const lengthByLead = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1);

/** Leaves out a code point of which only the beginning is there. */
const dropHalfCodePoint = (bytes: Buffer): Buffer => {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes.at(-back);
    if (byte === undefined) return bytes;
    const isLead = (byte & 0xc0) !== 0x80;
    if (isLead) return lengthByLead(byte) > back ? bytes.subarray(0, -back) : bytes;
  }
  return bytes;
};

/** Whole lines, so that the next slice can go on where this one ends; a line that is too long by itself is cut. */
const cutToLines = (bytes: Buffer): Buffer => {
  const end = bytes.lastIndexOf(NEWLINE) + 1;
  return end > 0 ? bytes.subarray(0, end) : dropHalfCodePoint(bytes);
};

/** Takes lines out of UTF-8 that comes in pieces; holds `maxBytes` and one piece at most. */
export const createLineSlicer = ({
  offsetLines,
  offsetBytes = 0,
  maxLines,
  maxBytes,
  isExact = false,
}: SliceBounds) => {
  let bytesToSkip = offsetBytes;
  let isSkipping = offsetBytes > 0;
  let linesBefore = 0;
  let startByte = 0;
  let skipLeft = offsetLines;
  let linesLeft = maxLines;
  // A character has four bytes at most.
  let bytesLeft = isExact ? maxBytes + 3 : maxBytes;
  let newlinesBeforeRest = 0;
  let lastByte = NEWLINE;
  let rest: Buffer = NOTHING;
  const taken: Buffer[] = [];

  const endOfLines = (bytes: Buffer, count: number): { end: number; found: number } => {
    let end = 0;
    for (let found = 0; found < count; found++) {
      const newline = bytes.indexOf(NEWLINE, end);
      if (newline < 0) return { end: bytes.length, found };
      end = newline + 1;
    }
    return { end, found: count };
  };

  /** What comes after the bytes that are skipped; a character that they end within is skipped too. */
  const skipBytes = (utf8: Buffer): Buffer => {
    if (!isSkipping) return utf8;
    const wanted = Math.min(bytesToSkip, utf8.length);
    bytesToSkip -= wanted;
    const end = bytesToSkip === 0 ? nextCharacter(utf8, wanted) : wanted;
    // The rest of that character may come with the next piece.
    isSkipping = end === utf8.length;
    const newlines = countNewlines(utf8.subarray(0, end));
    linesBefore += newlines;
    newlinesBeforeRest += newlines;
    startByte += end;
    return utf8.subarray(end);
  };

  return {
    /**
     * "skipping": the piece is not kept and its memory may be used again. "done": the slice is whole. "over": it is, and
     * something comes after it.
     */
    push: (all: Buffer): "skipping" | "taking" | "done" | "over" => {
      lastByte = all.at(-1) ?? lastByte;
      const utf8 = skipBytes(all);
      if (isSkipping) return "skipping";
      const skipped = endOfLines(utf8, skipLeft);
      skipLeft -= skipped.found;
      startByte += skipped.end;
      const window = utf8.subarray(skipped.end, skipped.end + bytesLeft);
      const kept = endOfLines(window, linesLeft);
      linesLeft -= kept.found;
      bytesLeft -= kept.end;
      newlinesBeforeRest += skipped.found + kept.found;
      rest = utf8.subarray(skipped.end + kept.end);
      if (kept.end > 0) taken.push(window.subarray(0, kept.end));
      if (skipLeft > 0) return "skipping";
      if (linesLeft > 0 && bytesLeft > 0) return "taking";
      return rest.length > 0 ? "over" : "done";
    },

    /** `ended`: what was pushed last is the end of the file. */
    finish: (ended: boolean): LineSlice => {
      const found = taken.length === 1 ? (taken[0] ?? NOTHING) : Buffer.concat(taken);
      const all = isExact
        ? found.subarray(0, nextCharacter(found, offsetBytes + maxBytes - startByte))
        : found;
      const more = !ended || rest.length > 0 || all.length < found.length;
      const isCutByBytes = more && linesLeft > 0 && !isExact;
      let bytes = isCutByBytes ? cutToLines(all) : all;
      let text = bytes.toString("utf8");
      // What is not UTF-8 grows when it is replaced.
      const hasGrown = !isExact && !isUtf8(bytes) && Buffer.byteLength(text) > maxBytes;
      if (hasGrown) {
        // A byte becomes three at most.
        bytes = cutToLines(all.subarray(0, Math.floor(maxBytes / 3)));
        text = bytes.toString("utf8");
      }
      const unfinished = lastByte === NEWLINE ? 0 : 1;
      return {
        text,
        lines: countLines(bytes),
        totalLines: ended ? newlinesBeforeRest + countNewlines(rest) + unfinished : undefined,
        truncated: more || hasGrown,
        firstLine: linesBefore + offsetLines,
        endByte: startByte + bytes.length,
      };
    },
  };
};
