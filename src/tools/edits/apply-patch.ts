import { LlmcError } from "../../base/error.ts";
import { ellipsize, quoteForMessage } from "../../base/text.ts";
import { nearestMatch } from "./nearest-match.ts";
import type { FilePatch } from "./parse-patch.ts";
import type { Reveal } from "./reveal.ts";

/** The lines of the text, and whether the last one lacks a newline. */
const splitText = (text: string): { readonly lines: string[]; readonly lacksNewline: boolean } => {
  if (text === "") return { lines: [], lacksNewline: false };
  const lacksNewline = !text.endsWith("\n");
  const lines = text.split("\n");
  if (!lacksNewline) lines.pop();
  return { lines, lacksNewline };
};

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

const sameLine = (a: string | undefined, b: string): boolean =>
  a === b || (a !== undefined && withoutReturn(a) === withoutReturn(b));

/** Lines that are compared to find the hunks of one file, and to find the nearest place: a second or so. */
const MAX_COMPARED_LINES = 20_000_000;
/** Lines of the nearest place that are shown. */
const MAX_SHOWN_LINES = 8;

/** Where most lines of a hunk are as it says, apart from their indentation. Too common lines prove nothing. */
const nearestPosition = (lines: readonly string[], wanted: readonly string[]): number | undefined => {
  const own = lines.map((line) => line.trim());
  const trimmed = wanted
    .slice(0, Math.ceil(MAX_COMPARED_LINES / (own.length + 1)))
    .map((line) => line.trim());
  let best: number | undefined;
  let bestCount = 0;
  for (let at = 0; at < lines.length; at++) {
    const count = trimmed.filter((line, i) => line.length > 2 && own[at + i] === line).length;
    if (count > bestCount) [best, bestCount] = [at, count];
  }
  return best;
};

/** The file's own lines there, by number; those that differ say what the patch expects. */
const showPosition = (lines: readonly string[], at: number, wanted: readonly string[]): string => {
  const firstWrong = wanted.findIndex((line, i) => !sameLine(lines[at + i], line));
  const from = Math.max(0, Math.min(firstWrong - 2, wanted.length - MAX_SHOWN_LINES));
  return wanted
    .slice(from, from + MAX_SHOWN_LINES)
    .map((line, i) => {
      const own = lines[at + from + i];
      const shown = own === undefined ? "[end of file]" : ellipsize(own.replace(/\r$/, ""), 120);
      const note = sameLine(own, line) ? "" : `   [patch: ${ellipsize(line, 120)}]`;
      return `${at + from + i + 1}:${shown}${note}`;
    })
    .join("\n");
};

/** What a hunk may have meant. */
const findNearest = (
  lines: readonly string[],
  wanted: readonly string[],
): { readonly line: number; readonly hint: string } | undefined => {
  const position = nearestPosition(lines, wanted);
  if (position !== undefined)
    return { line: position + 1, hint: `The nearest place:\n${showPosition(lines, position, wanted)}` };
  const near = nearestMatch(lines.join("\n"), wanted.join("\n"));
  return near && { line: near.line, hint: `The most similar text, from line ${near.line}:\n${near.shown}` };
};

const hunkMismatch = (
  path: string,
  number: number,
  lines: readonly string[],
  wanted: readonly string[],
  reveal: Reveal,
): LlmcError => {
  const near = reveal(() => findNearest(lines, wanted));
  const hint = near?.hint ?? "Read the file again and create the patch from its current content.";
  return new LlmcError(
    "text_not_found",
    `Hunk ${number} of ${quoteForMessage(path)} does not match the file; nothing was written.`,
    { hint, details: { hunk: number, ...(near === undefined ? {} : { nearest_line: near.line }) } },
  );
};

const misplaced = (path: string, number: number): LlmcError =>
  new LlmcError(
    "text_not_found",
    `Hunk ${number} of ${quoteForMessage(path)} is not where its line numbers say, and looking for it takes too long; nothing was written.`,
    { hint: "Correct the line numbers.", details: { hunk: number } },
  );

/** Finds the hunks of one file, each after the one before. */
const createLocator = (lines: readonly string[], path: string, reveal: Reveal) => {
  let compared = 0;
  const matchesAt = (at: number, wanted: readonly string[], number: number): boolean => {
    if (at < 0 || at + wanted.length > lines.length) return false;
    for (let i = 0; i < wanted.length; i++) {
      if (++compared > MAX_COMPARED_LINES) throw misplaced(path, number);
      if (!sameLine(lines[at + i], wanted[i] ?? "")) return false;
    }
    return true;
  };
  /** The line of a hunk: its own (shifted by earlier hunks), or else the only other one where it matches exactly. */
  return (expected: number, from: number, wanted: readonly string[], number: number): number => {
    // What removes nothing and has no context belongs exactly where it says.
    if (wanted.length === 0) {
      if (expected < from) throw hunkMismatch(path, number, lines, wanted, reveal);
      return Math.min(lines.length, expected);
    }
    if (expected >= from && matchesAt(expected, wanted, number)) return expected;
    const matches: number[] = [];
    for (let at = from; at + wanted.length <= lines.length && matches.length < 2; at++)
      if (matchesAt(at, wanted, number)) matches.push(at);
    const [only, another] = matches;
    if (only === undefined) throw hunkMismatch(path, number, lines, wanted, reveal);
    if (another !== undefined) {
      const where = reveal(() => ` (lines ${only + 1}, ${another + 1}, …)`) ?? "";
      throw new LlmcError(
        "text_ambiguous",
        `Hunk ${number} of ${quoteForMessage(path)} matches several positions${where} but not its own; nothing was written.`,
        {
          hint: "Correct the line numbers, or add context lines.",
          details: { hunk: number },
        },
      );
    }
    return only;
  };
};

/** A hunk that went to another line of the old text than its header says; both count from 1. */
export interface MovedHunk {
  readonly hunk: number;
  /** Left out where the header has no numbers. */
  readonly from?: number | undefined;
  readonly to: number;
}

export interface PatchedText {
  readonly text: string;
  readonly moved: readonly MovedHunk[];
}

/** Applies the hunks of one file. Every context and removed line must match exactly; line endings are kept. */
export const applyHunks = (text: string, { path, hunks }: FilePatch, reveal: Reveal): PatchedText => {
  const { lines, lacksNewline } = splitText(text);
  const ending = lines.length > 0 && lines.every((line) => line.endsWith("\r")) ? "\r" : "";
  const locate = createLocator(lines, path, reveal);
  const out: string[] = [];
  const moved: MovedHunk[] = [];
  let taken = 0;
  let drift = 0;
  let bare = lacksNewline;
  const takeUpTo = (end: number): void => {
    for (; taken < end; taken++) out.push(lines[taken] ?? "");
  };
  hunks.forEach((hunk, i) => {
    const wanted = hunk.lines.filter(({ mark }) => mark !== "+").map((line) => line.text);
    const stated = wanted.length === 0 ? hunk.oldStart : hunk.oldStart - 1;
    const hasNumber = stated >= 0;
    const at = locate(hasNumber ? stated + drift : -1, taken, wanted, i + 1);
    if (hasNumber) drift = at - stated;
    if (at !== stated)
      moved.push({
        hunk: i + 1,
        ...(hasNumber ? { from: hunk.oldStart, to: hunk.oldStart + drift } : { to: at + 1 }),
      });
    takeUpTo(at);
    let cursor = at;
    for (const { mark, text: lineText } of hunk.lines) {
      if (mark === "+") out.push(`${withoutReturn(lineText)}${ending}`);
      else {
        if (mark === " ") out.push(lines[cursor] ?? lineText);
        cursor++;
      }
    }
    taken = cursor;
    if (cursor === lines.length) {
      if (hunk.oldLacksNewline && !lacksNewline) throw hunkMismatch(path, i + 1, lines, wanted, reveal);
      bare =
        hunk.newLacksNewline || (lacksNewline && !hunk.oldLacksNewline && hunk.lines.at(-1)?.mark === " ");
    }
  });
  takeUpTo(lines.length);
  return {
    text: out.length === 0 ? "" : out.join("\n") + (bare ? "" : "\n"),
    moved: reveal(() => moved) ?? [],
  };
};
