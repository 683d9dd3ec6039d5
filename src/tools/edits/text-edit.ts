import { LlmcError } from "../../base/error.ts";
import { ellipsize } from "../../base/text.ts";
import { createTextSearch } from "../../base/text-search.ts";

export interface TextEdit {
  readonly oldText: string;
  readonly newText: string;
  /** How often the old text must occur; all occurrences are replaced. */
  readonly expectedReplacements: number;
}

/** Positions listed when a text occurs more often than expected. */
const MAX_POSITIONS = 10;
/** Lines shown of the most similar text. */
const MAX_SHOWN_LINES = 6;
/** Edits in a call; more are better written as a whole file. */
const MAX_EDITS = 1000;
/** Characters that all edits of a call may go through together: a second or two. */
const MAX_WORK_CHARS = 256 * 1024 ** 2;
/** Replacements in a call: a second or two as well. */
const MAX_REPLACEMENTS = 10_000_000;
/** Of a text, its beginning, in which the most similar text is looked for. */
const COMPARED_TEXT_CHARS = 2 * 1024 * 1024;

const lineAt = (text: string, position: number): number => {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < position; at = text.indexOf("\n", at + 1)) line++;
  return line;
};

/** A large text may have tens of millions: they are not held. */
const positionsOf = function* (text: string, wanted: string): Generator<number> {
  const find = createTextSearch(wanted);
  for (let at = find(text); at >= 0; at = find(text, at + wanted.length)) yield at;
};

const pairsOf = (line: string): Map<string, number> => {
  const pairs = new Map<string, number>();
  for (let i = 0; i + 1 < line.length; i++) {
    const pair = line.slice(i, i + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
};

/** The Dice coefficient of the letter pairs of two lines, from 0 to 1. */
const similarity = (a: Map<string, number>, aLength: number, line: string): number => {
  const b = pairsOf(line);
  let common = 0;
  for (const [pair, count] of a) common += Math.min(count, b.get(pair) ?? 0);
  return (2 * common) / Math.max(1, aLength - 1 + line.length - 1);
};

/** Only the beginning of longer lines is compared. */
const COMPARED_CHARS = 200;
/** Minimum similarity of a line that is shown. */
const CLOSE_ENOUGH = 0.5;

/** The part of the text that is most similar to the wanted one; undefined if nothing is similar enough. */
export const nearestMatch = (
  whole: string,
  wanted: string,
): { readonly line: number; readonly shown: string } | undefined => {
  const wantedLines = wanted.split("\n");
  const key = wantedLines.findIndex((line) => line.trim().length > 2);
  const keyLine = (wantedLines[key] ?? "").trim().slice(0, COMPARED_CHARS);
  if (keyLine.length < 3) return undefined;
  const pairs = pairsOf(keyLine);
  const text = whole.slice(0, COMPARED_TEXT_CHARS);
  const lines = text.split("\n");
  let best = -1;
  let bestScore = CLOSE_ENOUGH;
  lines.forEach((line, i) => {
    const trimmed = line.trim().slice(0, COMPARED_CHARS);
    const score = trimmed === keyLine ? 1 : similarity(pairs, keyLine.length, trimmed);
    if (score > bestScore) {
      best = i;
      bestScore = score;
    }
  });
  if (best < 0) return undefined;
  const first = Math.max(0, best - Math.max(0, key));
  const shown = lines.slice(first, first + Math.min(MAX_SHOWN_LINES, wantedLines.length + 1));
  return { line: first + 1, shown: shown.map((line) => ellipsize(line.replace(/\r$/, ""), 200)).join("\n") };
};

const notFound = (text: string, wanted: string, label: string): LlmcError => {
  const near = nearestMatch(text, wanted);
  return new LlmcError("text_not_found", `${label}old_text is not in the file; nothing was written.`, {
    hint:
      near === undefined
        ? "Read the file again and copy the text exactly, with its spaces."
        : `The most similar text, from line ${near.line}:\n${near.shown}`,
    ...(near === undefined ? {} : { details: { nearest_line: near.line } }),
  });
};

const ambiguous = (text: string, { oldText, expectedReplacements }: TextEdit, label: string): LlmcError => {
  const lines: number[] = [];
  let found = 0;
  for (const at of positionsOf(text, oldText)) if (found++ < MAX_POSITIONS) lines.push(lineAt(text, at));
  const more = found > MAX_POSITIONS ? ", …" : "";
  return new LlmcError(
    "text_ambiguous",
    `${label}old_text occurs ${found} times (lines ${lines.join(", ")}${more}), expected ${expectedReplacements}; nothing was written.`,
    {
      hint: "Add surrounding lines to old_text, or set expected_replacements.",
      details: { found },
    },
  );
};

const toCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n");

/** Models write `\n`; in a file with `\r\n` the edit uses that as well. */
const fitLineEndings = (text: string, edit: TextEdit): TextEdit => {
  if (!text.includes("\r\n") || createTextSearch(edit.oldText)(text) >= 0) return edit;
  return { ...edit, oldText: toCrlf(edit.oldText), newText: toCrlf(edit.newText) };
};

const outgrown = (label: string, maxChars: number): LlmcError =>
  new LlmcError(
    "file_too_large",
    `${label}The file would have over ${maxChars} characters, which is the limit for an edited file; nothing was written.`,
  );

const tooMuchWork = (what: string): LlmcError =>
  new LlmcError("file_too_large", `${what} in one call; nothing was written.`, {
    hint: "Send fewer edits at a time.",
  });

const grownBy = ({ oldText, newText, expectedReplacements }: TextEdit): number =>
  expectedReplacements * (newText.length - oldText.length);

/**
 * An edit succeeds with exactly the replacements it expects, so the length of every step is known before the first one
 * is made: a few bytes of arguments that double a text, and double it again, never get memory.
 */
const refuseOutgrowing = (
  text: string,
  edits: readonly TextEdit[],
  maxChars: number,
  labelOf: (at: number) => string,
): void => {
  if (edits.length > MAX_EDITS) {
    throw new LlmcError("invalid_args", `${edits.length} edits at once are over the limit of ${MAX_EDITS}.`, {
      hint: "Send fewer at a time, or write the whole file.",
      details: { field: "edits" },
    });
  }
  let length = text.length;
  let [work, replacements] = [0, 0];
  edits.forEach((edit, at) => {
    work += length;
    replacements += Math.min(edit.expectedReplacements, length);
    length = Math.max(0, length + grownBy(edit));
    if (length > maxChars) throw outgrown(labelOf(at), maxChars);
  });
  if (work > MAX_WORK_CHARS) throw tooMuchWork("These are too many edits of a text of this size");
  if (replacements > MAX_REPLACEMENTS) throw tooMuchWork(`These are over ${MAX_REPLACEMENTS} replacements`);
};

/** Pieces that are joined at once; one string made of millions by `+` takes 30 bytes for each. */
const JOINED = 10_000;

const replaceExactly = (text: string, edit: TextEdit, label: string): string => {
  const { oldText, newText, expectedReplacements } = edit;
  const joined: string[] = [];
  let pieces: string[] = [];
  let [count, from] = [0, 0];
  for (const at of positionsOf(text, oldText)) {
    if (++count > expectedReplacements) break;
    pieces.push(text.slice(from, at), newText);
    from = at + oldText.length;
    if (pieces.length < JOINED) continue;
    joined.push(pieces.join(""));
    pieces = [];
  }
  if (count === 0) throw notFound(text, oldText, label);
  if (count !== expectedReplacements) throw ambiguous(text, edit, label);
  return joined.join("") + pieces.join("") + text.slice(from);
};

const applyOne = (text: string, asked: TextEdit, maxChars: number, label: string): string => {
  if (asked.oldText === "") {
    throw new LlmcError("invalid_args", `${label}old_text is empty.`, {
      hint: "Give the text to replace. To write a whole file, use linux_fs_write.",
    });
  }
  const edit = fitLineEndings(text, asked);
  if (text.length + grownBy(edit) > maxChars) throw outgrown(label, maxChars);
  return replaceExactly(text, edit, label);
};

/** Applies edits one after the other, each to the result of the one before; throws at the first that does not match. */
export const applyEdits = (text: string, edits: readonly TextEdit[], maxChars: number): string => {
  const labelOf = (at: number): string => (edits.length === 1 ? "" : `Edit ${at + 1}: `);
  refuseOutgrowing(text, edits, maxChars, labelOf);
  return edits.reduce((current, edit, at) => applyOne(current, edit, maxChars, labelOf(at)), text);
};
