import { LlmcError } from "./error.ts";
import type { FilePatch } from "./parse-patch.ts";
import { quoteForMessage } from "./text.ts";
import { nearestPlace } from "./text-edit.ts";

/** The text as lines, and whether the last one is closed by a newline. */
const splitText = (text: string): { readonly lines: string[]; readonly endsBare: boolean } => {
  if (text === "") return { lines: [], endsBare: false };
  const endsBare = !text.endsWith("\n");
  const lines = text.split("\n");
  if (!endsBare) lines.pop();
  return { lines, endsBare };
};

const sameLine = (a: string | undefined, b: string): boolean =>
  a === b || (a !== undefined && a.replace(/\r$/, "") === b.replace(/\r$/, ""));

const fitsAt = (lines: readonly string[], at: number, wanted: readonly string[]): boolean =>
  at >= 0 && at + wanted.length <= lines.length && wanted.every((line, i) => sameLine(lines[at + i], line));

const misfit = (
  path: string,
  number: number,
  lines: readonly string[],
  wanted: readonly string[],
): LlmcError => {
  const near = nearestPlace(lines.join("\n"), wanted.join("\n"));
  return new LlmcError(
    "text_not_found",
    `Hunk ${number} of ${quoteForMessage(path)} does not fit the file; nothing was written.`,
    {
      hint:
        near === undefined
          ? "Read the file again and make the patch from what is there."
          : `The nearest place, from line ${near.line}:\n${near.shown}`,
      details: { hunk: number, ...(near === undefined ? {} : { nearest_line: near.line }) },
    },
  );
};

/** Where a hunk goes: at its own line (moved by earlier hunks), else at the one other place where it fits exactly. */
const placeHunk = (
  lines: readonly string[],
  expected: number,
  from: number,
  wanted: readonly string[],
  path: string,
  number: number,
): number => {
  if (fitsAt(lines, expected, wanted) && expected >= from) return expected;
  const places: number[] = [];
  for (let at = from; at + wanted.length <= lines.length && places.length < 2; at++)
    if (fitsAt(lines, at, wanted)) places.push(at);
  const [only, another] = places;
  if (only === undefined) throw misfit(path, number, lines, wanted);
  if (another !== undefined) {
    throw new LlmcError(
      "text_ambiguous",
      `Hunk ${number} of ${quoteForMessage(path)} fits at several places (lines ${only + 1}, ${another + 1}, …) and not at its own; nothing was written.`,
      {
        hint: "Correct the line numbers, or add context lines.",
        details: { hunk: number },
      },
    );
  }
  return only;
};

/** Applies the hunks of one file. Every context and removed line must be there, letter by letter; line endings are kept. */
export const applyHunks = (text: string, { path, hunks }: FilePatch): string => {
  const { lines, endsBare } = splitText(text);
  const ending = lines.length > 0 && lines.every((line) => line.endsWith("\r")) ? "\r" : "";
  const out: string[] = [];
  let taken = 0;
  let drift = 0;
  let bare = endsBare;
  hunks.forEach((hunk, i) => {
    const wanted = hunk.lines.filter(({ mark }) => mark !== "+").map((line) => line.text);
    const stated = wanted.length === 0 ? hunk.oldStart : hunk.oldStart - 1;
    const at =
      wanted.length === 0
        ? Math.min(lines.length, stated)
        : placeHunk(lines, stated + drift, taken, wanted, path, i + 1);
    drift = at - stated;
    out.push(...lines.slice(taken, at));
    let cursor = at;
    for (const { mark, text: lineText } of hunk.lines) {
      if (mark === "+") out.push(`${lineText.replace(/\r$/, "")}${ending}`);
      else {
        if (mark === " ") out.push(lines[cursor] ?? lineText);
        cursor++;
      }
    }
    taken = cursor;
    if (cursor === lines.length) {
      if (hunk.oldEndsBare && !endsBare) throw misfit(path, i + 1, lines, wanted);
      bare = hunk.newEndsBare || (endsBare && !hunk.oldEndsBare && hunk.lines.at(-1)?.mark === " ");
    }
  });
  out.push(...lines.slice(taken));
  if (out.length === 0) return "";
  return out.join("\n") + (bare ? "" : "\n");
};
