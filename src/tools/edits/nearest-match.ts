import { ellipsize } from "../../base/text.ts";

/** Lines shown of the most similar text. */
const MAX_SHOWN_LINES = 6;
/** Of a text, its beginning, in which the most similar text is looked for: some 150 ms. */
const COMPARED_TEXT_CHARS = 1024 * 1024;

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
