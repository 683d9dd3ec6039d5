import { LlmcError } from "../../base/error.ts";
import { ellipsize } from "../../base/text.ts";

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

const lineAt = (text: string, position: number): number => {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < position; at = text.indexOf("\n", at + 1)) line++;
  return line;
};

const positionsOf = (text: string, wanted: string): number[] => {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) found.push(at);
  return found;
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
  text: string,
  wanted: string,
): { readonly line: number; readonly shown: string } | undefined => {
  const wantedLines = wanted.split("\n");
  const key = wantedLines.findIndex((line) => line.trim().length > 2);
  const keyLine = (wantedLines[key] ?? "").trim().slice(0, COMPARED_CHARS);
  if (keyLine.length < 3) return undefined;
  const pairs = pairsOf(keyLine);
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

const ambiguous = (
  text: string,
  positions: readonly number[],
  expected: number,
  label: string,
): LlmcError => {
  const lines = positions.slice(0, MAX_POSITIONS).map((at) => lineAt(text, at));
  const more = positions.length > MAX_POSITIONS ? ", …" : "";
  return new LlmcError(
    "text_ambiguous",
    `${label}old_text occurs ${positions.length} times (lines ${lines.join(", ")}${more}), expected ${expected}; nothing was written.`,
    {
      hint: "Add surrounding lines to old_text, or set expected_replacements.",
      details: { found: positions.length },
    },
  );
};

const toCrlf = (text: string): string => text.replace(/\r?\n/g, "\r\n");

/** Models write `\n`; in a file with `\r\n` the edit uses that as well. */
const fitLineEndings = (text: string, edit: TextEdit): TextEdit => {
  if (!text.includes("\r\n") || text.includes(edit.oldText)) return edit;
  return { ...edit, oldText: toCrlf(edit.oldText), newText: toCrlf(edit.newText) };
};

const applyOne = (text: string, asked: TextEdit, label: string): string => {
  if (asked.oldText === "") {
    throw new LlmcError("invalid_args", `${label}old_text is empty.`, {
      hint: "Give the text to replace. To write a whole file, use linux_fs_write.",
    });
  }
  const edit = fitLineEndings(text, asked);
  const positions = positionsOf(text, edit.oldText);
  if (positions.length === 0) throw notFound(text, asked.oldText, label);
  if (positions.length !== edit.expectedReplacements)
    throw ambiguous(text, positions, edit.expectedReplacements, label);
  // A function, so that `$&` in the new text is not interpreted.
  return text.replaceAll(edit.oldText, () => edit.newText);
};

/** Applies edits one after the other, each to the result of the one before; throws at the first that does not match. */
export const applyEdits = (text: string, edits: readonly TextEdit[]): string =>
  edits.reduce(
    (current, edit, i) => applyOne(current, edit, edits.length === 1 ? "" : `Edit ${i + 1}: `),
    text,
  );
