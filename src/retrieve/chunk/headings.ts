import type { Lines } from "./lines.ts";
import type { OutlineEntry } from "./outline.ts";

export interface Heading {
  readonly row: number;
  /** Last row of the heading: its underline. */
  readonly endRow: number;
  /** From 1. */
  readonly level: number;
  readonly title: string;
}

/** What is kept whole where it fits: fenced code, tables. */
export interface Block {
  readonly from: number;
  readonly to: number;
}

export interface Structure {
  readonly headings: readonly Heading[];
  readonly blocks: readonly Block[];
}

const MAX_TITLE_CHARS = 100;

/** Longer rows are no headings, and patterns need not look at them. */
const MAX_ROW_CHARS = 400;

export const rowText = (lines: Lines, row: number): string =>
  lines.chars(row, row) > MAX_ROW_CHARS ? "" : lines.slice(row, row).replace(/^\uFEFF/, "");

/** Markup out, so that a title reads as it is shown. */
export const plainTitle = (title: string): string =>
  title
    .replace(/<[^<>]*>/g, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*_]{1,3}(\S(?:.*?\S)?)[`*_]{1,3}/g, "$1")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_TITLE_CHARS);

/** Headings as an outline: each reaches to the next of its level or above, and is named with those above it. */
export const headingOutline = (headings: readonly Heading[], rows: number): OutlineEntry[] => {
  const ends = new Array<number>(headings.length).fill(rows - 1);
  const open: number[] = [];
  return headings
    .map(({ row, level, title }, i) => {
      for (
        let last = open.at(-1);
        last !== undefined && (headings[last]?.level ?? 0) >= level;
        last = open.at(-1)
      ) {
        ends[last] = row - 1;
        open.pop();
      }
      open.push(i);
      const path = open.map((at) => headings[at]?.title ?? "");
      return {
        name: title,
        qualified: path.join(" > "),
        depth: path.length - 1,
        nameRow: row,
        startRow: row,
      };
    })
    .map((entry, i) => ({ ...entry, endRow: ends[i] ?? entry.startRow }));
};
