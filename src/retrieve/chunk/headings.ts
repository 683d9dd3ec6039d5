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

/** Fenced code or a table: kept in one chunk where it fits. */
export interface Block {
  readonly from: number;
  readonly to: number;
}

export interface Structure {
  readonly headings: readonly Heading[];
  readonly blocks: readonly Block[];
}

const MAX_TITLE_CHARS = 100;

/** Longer rows are not headings, and are not matched against patterns. */
const MAX_ROW_CHARS = 400;

export const rowText = (lines: Lines, row: number): string =>
  lines.chars(row, row) > MAX_ROW_CHARS ? "" : lines.slice(row, row).replace(/^\uFEFF/, "");

/** Removes markup from a title. */
export const plainTitle = (title: string): string =>
  title
    .replace(/<[^<>]*>/g, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*_]{1,3}(\S(?:.*?\S)?)[`*_]{1,3}/g, "$1")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_TITLE_CHARS);

/** Headings as an outline: each section ends before the next heading of its level or above, and its qualified name holds those above it. */
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
