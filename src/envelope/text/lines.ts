import { ellipsize } from "../../base/text.ts";

/** Lines without their ends; a last line that ends properly adds no empty one. */
export const splitLines = (text: string): string[] => {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
};

const ESC = "\u001b";
const BELL = "\u0007";
/** CSI sequences, OSC strings and two-letter escapes; lengths bounded so that hostile input costs linear time. */
const ESCAPES = new RegExp(
  `${ESC}(?:\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\\][^${BELL}${ESC}]{0,2048}(?:${BELL}|${ESC}\\\\)|[@-Z\\\\^_])`,
  "g",
);

/** Text that was overwritten after a carriage return, mostly progress bars, is removed, as on a terminal. */
const lastWriting = (line: string): string => {
  const end = line.endsWith("\r") ? line.length - 1 : line.length;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
};

/** Without progress that was written over, as on a terminal. */
export const withoutProgress = (text: string): string =>
  text.includes("\r") ? text.split("\n").map(lastWriting).join("\n") : text;

/** As a terminal would leave it: without colours, and without what was written over. */
export const plainText = (text: string): string => {
  const bare = text.includes("\u001b") ? text.replace(ESCAPES, "") : text;
  return withoutProgress(bare);
};

/** The longest line that is shown whole. */
const MAX_LINE_CHARS = 240;

/** Keeps the beginning, and says how much is missing. */
export const shorten = (line: string, maxChars = MAX_LINE_CHARS): string =>
  line.length <= maxChars + 24
    ? line
    : `${ellipsize(line, maxChars)} [+${line.length - maxChars} characters]`;

export interface Folded {
  readonly text: string;
  /** Counted from 1. */
  readonly first: number;
  readonly count: number;
}

/** Runs of the same line become one, with their number. */
export const foldRepeats = (lines: readonly string[]): Folded[] => {
  const folded: Folded[] = [];
  let first = 0;
  for (let i = 1; i <= lines.length; i++) {
    if (i < lines.length && lines[i] === lines[first]) continue;
    folded.push({ text: lines[first] ?? "", first: first + 1, count: i - first });
    first = i;
  }
  return folded;
};

/** Whether the output contains bytes that text never has, as programs, images and archives do. */
export const looksBinary = (text: string): boolean => {
  const start = text.slice(0, 8192);
  if (start.includes("\0")) return true;
  let odd = 0;
  for (const char of start)
    if (char === "\uFFFD" || (char < " " && !"\n\r\t\f\u001b\b".includes(char))) odd++;
  return odd * 10 > start.length;
};
