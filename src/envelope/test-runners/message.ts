import { shorten } from "../text/lines.ts";

/** Failures that are read in detail; totals count them all. */
export const MAX_FAILURES = 500;

const MAX_LINES = 12;
const MAX_LINE_CHARS = 200;

/** What went wrong, in a few lines: without empty ones, with as little indentation as all of them allow. */
export const clipMessage = (lines: readonly string[]): string => {
  const full = lines.map((line) => line.slice(0, 4000).trimEnd()).filter((line) => line !== "");
  const shown = full.slice(0, MAX_LINES);
  const indent = Math.min(...shown.map((line) => line.length - line.trimStart().length));
  const rest = full.length > shown.length ? [`[+${full.length - shown.length} lines]`] : [];
  return [...shown.map((line) => shorten(line.slice(indent), MAX_LINE_CHARS)), ...rest].join("\n");
};

/** The number before a word: `3 failed`. */
export const numberBefore = (line: string, word: string): number =>
  Number(new RegExp(`(\\d{1,9}) ${word}\\b`).exec(line)?.[1] ?? 0);

export interface Location {
  readonly file: string;
  readonly line: number;
}

/**
 * The location of a failure in its own file; otherwise the given one. A runner may print whole paths, so the end of one
 * counts as well, of several the shortest: `/w/sub/a.test.ts` ends with `a.test.ts`, too.
 */
export const locationIn = <L extends Location>(
  file: string,
  locations: readonly L[],
  otherwise?: L,
): L | undefined =>
  locations.find((each) => each.file === file) ??
  locations
    .filter((each) => each.file.startsWith("/") && each.file.endsWith(`/${file}`))
    .toSorted((one, other) => one.file.length - other.file.length)[0] ??
  otherwise;

/** `src/a.test.ts:5:13`, with or without `file://` and a column. */
export const readLocation = (location: string): Location | undefined => {
  const found = /^(?:file:\/\/)?([^\s:()][^\s:()]{0,1000}):(\d{1,9})(?::\d{1,9})?$/.exec(location);
  return found === null ? undefined : { file: found[1] ?? "", line: Number(found[2]) };
};
