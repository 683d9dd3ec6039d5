import { structuredPatch } from "diff";
import { ellipsize } from "../../base/text.ts";

/** Beyond this many changed lines the search for common lines takes too long; the whole text is shown as replaced. */
const MAX_CHANGES = 1_000;
/** A minified settings file may be a single line of megabytes. */
const MAX_LINE_CHARS = 1_000;

const COLOURS = new Map([
  ["-", "\u001b[31m"],
  ["+", "\u001b[32m"],
  ["@", "\u001b[36m"],
]);
const RESET = "\u001b[0m";

/** The file may come from a project: its text must not control the terminal or hide a part of the change. */
const printable = (line: string): string =>
  ellipsize(line, MAX_LINE_CHARS).replace(/(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

const linesOf = (text: string, sign: "-" | "+"): string[] => {
  if (text === "") return [];
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((line) => sign + line);
};

const replaceAll = (before: string, after: string) => {
  const [removed, added] = [linesOf(before, "-"), linesOf(after, "+")];
  return {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...removed, ...added],
  };
};

/** A side without lines names the line before it. */
const range = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`;

const withoutCarriageReturns = (text: string): string => text.replaceAll("\r\n", "\n");

/** A unified diff for people to read; empty if nothing changed. */
export const renderDiff = (
  before: string | undefined,
  after: string,
  file: string,
  withColours = false,
): string => {
  if (before === after) return "";
  const [old, next] = [withoutCarriageReturns(before ?? ""), withoutCarriageReturns(after)];
  const patch = structuredPatch(file, file, old, next, undefined, undefined, {
    context: 3,
    maxEditLength: MAX_CHANGES,
  });
  const name = printable(file);
  const lines = [
    `--- ${before === undefined ? "/dev/null" : name}`,
    `+++ ${name}`,
    ...(patch?.hunks ?? [replaceAll(old, next)]).flatMap((hunk) => [
      `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
      ...hunk.lines.map(printable),
    ]),
  ];
  const paint = (line: string): string => {
    const colour = withColours ? COLOURS.get(line[0] ?? "") : undefined;
    return colour === undefined ? line : `${colour}${line}${RESET}`;
  };
  return `${lines.map(paint).join("\n")}\n`;
};
