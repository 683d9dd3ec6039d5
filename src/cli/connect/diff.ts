import { ellipsize } from "../../base/text.ts";

const CONTEXT_LINES = 3;
/** Above this many cells the table of common lines is not worth its memory; the block is shown as replaced. */
const MAX_CELLS = 4_000_000;
/** A minified settings file is one line of megabytes. */
const MAX_LINE_CHARS = 1_000;

interface Line {
  readonly kind: " " | "-" | "+";
  readonly text: string;
}

const COLOURS = { " ": "", "-": "\u001b[31m", "+": "\u001b[32m", "@": "\u001b[36m" } as const;
const RESET = "\u001b[0m";

/** A project's file is not ours: what it says must not steer the terminal or hide a part of the change. */
const showable = (line: string): string =>
  ellipsize(line, MAX_LINE_CHARS).replace(/(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

const splitLines = (text: string): string[] => {
  if (text === "") return [];
  const lines = text.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (lines.at(-1) === "") lines.pop();
  else lines.push("\\ No newline at end of file");
  return lines;
};

/** Longest common subsequence of what lies between the equal head and tail. */
const diffMiddle = (before: readonly string[], after: readonly string[]): Line[] => {
  const removed = before.map((text): Line => ({ kind: "-", text }));
  const added = after.map((text): Line => ({ kind: "+", text }));
  if (before.length * after.length > MAX_CELLS) return [...removed, ...added];

  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));

  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ kind: " ", text: before[i++] ?? "" });
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) lines.push(...removed.slice(i, ++i));
    else lines.push(...added.slice(j, ++j));
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
};

const diffLines = (before: readonly string[], after: readonly string[]): Line[] => {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const same = (text: string): Line => ({ kind: " ", text });
  return [
    ...before.slice(0, head).map(same),
    ...diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
};

interface Span {
  from: number;
  to: number;
}

/** The changed places with their surroundings; those that touch become one. */
const findHunks = (lines: readonly Line[]): Span[] => {
  const hunks: Span[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.kind === " ") continue;
    const from = Math.max(0, index - CONTEXT_LINES);
    const to = Math.min(lines.length, index + CONTEXT_LINES + 1);
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks;
};

/** `start,count` of one side; a side without lines names the line before it, as diff does. */
const sideRange = (lines: readonly Line[], { from, to }: Span, other: Line["kind"]): string => {
  const count = lines.slice(from, to).filter((line) => line.kind !== other).length;
  const start = lines.slice(0, from).filter((line) => line.kind !== other).length;
  return `${count === 0 ? start : start + 1},${count}`;
};

/** A unified diff for people to read; empty where nothing changed. */
export const renderDiff = (
  before: string | undefined,
  after: string,
  file: string,
  withColours = false,
): string => {
  if (before === after) return "";
  const lines = diffLines(splitLines(before ?? ""), splitLines(after));
  const paint = (colour: keyof typeof COLOURS, text: string): string =>
    withColours && COLOURS[colour] !== "" ? `${COLOURS[colour]}${text}${RESET}` : text;
  const shown = findHunks(lines).flatMap((hunk) => [
    paint("@", `@@ -${sideRange(lines, hunk, "+")} +${sideRange(lines, hunk, "-")} @@`),
    ...lines.slice(hunk.from, hunk.to).map(({ kind, text }) => paint(kind, kind + showable(text))),
  ]);
  const name = showable(file);
  return `${[paint("-", `--- ${before === undefined ? "/dev/null" : name}`), paint("+", `+++ ${name}`), ...shown].join("\n")}\n`;
};
