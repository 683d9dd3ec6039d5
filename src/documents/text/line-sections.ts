import type { Section } from "../contract.ts";
import { HeadingPath, type SectionList } from "./section-list.ts";

/** A part of a text in lines, counted from 0; `end` is not part of it. */
export interface Block {
  readonly start: number;
  readonly end: number;
  readonly kind: Section["kind"] | "heading";
  readonly heading?: { readonly level: number; readonly text: string; readonly anchor: string | undefined };
}

const isBlank = (line: string | undefined): boolean => line === undefined || line.trim() === "";

/** Adds the innermost heading as a section where no other section carries it. */
export const addPendingHeading = (list: SectionList, path: HeadingPath, line?: number): void => {
  const { pending, headings, anchor } = path;
  if (pending === undefined) return;
  list.add({ headings, anchor, startLine: line, endLine: line, text: pending, kind: "prose" });
  path.use();
};

/** A part of a document that has no lines of its own, below the headings of the parts before it. */
export interface Part {
  readonly path: HeadingPath;
}

/**
 * Sections of a text whose structure lies in its lines. Blocks come in order; lines between them are prose. The text of a
 * section is its lines as they are, so nothing is lost but headings, which its path carries, and blank lines around it.
 */
export const sectionsOfLines = (
  lines: readonly string[],
  blocks: Iterable<Block>,
  list: SectionList,
  part?: Part,
): void => {
  const path = part?.path ?? new HeadingPath();
  let proseFrom = 0;
  let headingLine: number | undefined;
  const add = (start: number, end: number, kind: Section["kind"]): void => {
    let [first, last] = [start, end];
    while (first < last && isBlank(lines[first])) first++;
    while (last > first && isBlank(lines[last - 1])) last--;
    if (first === last) return;
    const { headings, anchor } = path;
    const text = lines.slice(first, last).join("\n");
    const position = part === undefined ? { startLine: first + 1, endLine: last } : {};
    list.add({ headings, anchor, ...position, text, kind });
    path.use();
  };
  for (const { start, end, kind, heading } of blocks) {
    add(proseFrom, start, "prose");
    proseFrom = end;
    if (heading !== undefined) {
      if (!path.isParentOf(heading.level)) addPendingHeading(list, path, headingLine);
      path.enter(heading.level, heading.text, heading.anchor);
      headingLine = part === undefined ? start + 1 : undefined;
    } else if (kind !== "heading") add(start, end, kind);
  }
  add(proseFrom, lines.length, "prose");
  if (part === undefined) addPendingHeading(list, path, headingLine);
};
