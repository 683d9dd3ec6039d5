import { ellipsize } from "../../base/text.ts";
import { NEWLINE, nextCharacter } from "../../base/utf8.ts";
import { readText } from "./text-slice.ts";

/** Lines of a file, counted from 1, both ends included. */
export interface LineRange {
  readonly firstLine: number;
  readonly lastLine: number;
  /** Where a long line is cut, the part around this byte of it is shown, and not its beginning. */
  readonly focus?: { readonly line: number; readonly byte: number };
}

const NOTHING = Buffer.alloc(0);

/** Characters of a line that are shown; more of a minified file helps nobody. */
const MAX_LINE_CHARS = 200;
// Four bytes a character at most, and one character more, so that what was cut here is seen to be too long.
const MAX_LINE_BYTES = 4 * (MAX_LINE_CHARS + 1);

/** Shown before the focus of a long line. */
const BEFORE_FOCUS_BYTES = 60;
/** A focus up to here is seen in the beginning of a line. */
const NEAR_BYTES = 140;

const shorten = (line: string): string => ellipsize(line.replace(/\r$/, ""), MAX_LINE_CHARS);

/** Collects a line, of which only the beginning and the part around its focus are kept. */
const createLineWindow = (focusByte: number | undefined) => {
  const from =
    focusByte === undefined || focusByte <= NEAR_BYTES ? undefined : focusByte - BEFORE_FOCUS_BYTES;
  let head: Buffer = NOTHING;
  let window: Buffer = NOTHING;
  let seen = 0;
  const upTo = (kept: Buffer, piece: Buffer, start: number): Buffer =>
    kept.length >= MAX_LINE_BYTES || start >= piece.length
      ? kept
      : // A copy: the memory behind the piece is used again for the next one.
        Buffer.concat([kept, piece.subarray(start, start + MAX_LINE_BYTES - kept.length)]);
  return {
    push: (piece: Buffer): void => {
      head = upTo(head, piece, 0);
      if (from !== undefined) window = upTo(window, piece, Math.max(0, from - seen));
      seen += piece.length;
    },
    isEmpty: () => seen === 0,
    text: (): string => {
      const beginning = shorten(head.toString("utf8"));
      if (from === undefined || seen <= MAX_LINE_CHARS || window.length === 0) return beginning;
      // A character that the window starts within is left out.
      const around = window.subarray(nextCharacter(window, 0)).toString("utf8");
      return `…${shorten(around)}`;
    },
  };
};

/** The numbers that are wanted, in order and once each: ranges may overlap. */
const wantedLines = (ranges: readonly LineRange[]): readonly number[] => {
  const wanted = new Set<number>();
  for (const { firstLine, lastLine } of ranges) for (let n = firstLine; n <= lastLine; n++) wanted.add(n);
  return [...wanted].sort((a, b) => a - b);
};

/** Takes single lines out of UTF-8 that comes in pieces; holds what it took, and parts of one line more. */
const createLinePicker = (wanted: readonly number[], focusOf: ReadonlyMap<number, number>) => {
  const taken = new Map<number, string>();
  let next = 0;
  let line = 1;
  let begun: ReturnType<typeof createLineWindow> | undefined;

  const keep = (window: ReturnType<typeof createLineWindow>): void => {
    taken.set(line, window.text());
    begun = undefined;
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
          begun ??= createLineWindow(focusOf.get(line));
          begun.push(utf8.subarray(at, end));
          if (newline >= 0) keep(begun);
        }
        if (newline < 0) break;
        line++;
        at = newline + 1;
      }
      return next < wanted.length;
    },
    finish: (): void => {
      if (begun !== undefined && !begun.isEmpty()) keep(begun);
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
  const focusOf = new Map(ranges.flatMap(({ focus }) => (focus ? [[focus.line, focus.byte] as const] : [])));
  const picker = createLinePicker(wantedLines(ranges), focusOf);
  const take = (utf8: Buffer, isAtEnd: boolean) => {
    const wantsMore = picker.push(utf8);
    if (wantsMore && isAtEnd) picker.finish();
    return wantsMore ? "again" : "enough";
  };
  if (!(await readText(fd, sizeBytes, take, signal))) return "binary";
  return ranges.map(({ firstLine, lastLine }) => {
    const lines: string[] = [];
    for (let n = firstLine; n <= lastLine; n++) {
      const text = picker.taken.get(n);
      if (text !== undefined) lines.push(text);
    }
    return lines;
  });
};
