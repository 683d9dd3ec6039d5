import { type Atom, addRows, CUT } from "./atoms.ts";
import { rowText } from "./headings.ts";
import { type Lines, toLines } from "./lines.ts";
import { createNamer, type OutlineEntry } from "./outline.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { type Cut, toChunks } from "./to-chunks.ts";

const COMMENT = /^\s*[#;]/;

const keyAt = (lines: Lines, row: number, pattern: RegExp): string | undefined => {
  const found = pattern.exec(rowText(lines, row));
  return found
    ?.slice(1)
    .find((group) => group !== undefined && group !== "")
    ?.trim();
};

/** Cuts configuration at its top-level keys or tables; a comment stays with what follows it. */
export const cutKeyed = (text: string, pattern: RegExp, sizes: Sizes = SIZES): Cut => {
  const lines = toLines(text);
  const starts: { row: number; nameRow: number; name: string }[] = [];
  for (let row = 0; row < lines.count; row++) {
    const name = keyAt(lines, row, pattern);
    if (name === undefined) continue;
    let from = row;
    while (from > 0 && COMMENT.test(rowText(lines, from - 1))) from--;
    starts.push({ row: from, nameRow: row, name });
  }
  const outline: OutlineEntry[] = starts.map(({ name, nameRow, row }, i) => ({
    name,
    qualified: name,
    depth: 0,
    nameRow,
    startRow: row,
    endRow: (starts[i + 1]?.row ?? lines.count) - 1,
  }));
  const atoms: Atom[] = [];
  const add = (from: number, to: number): void => {
    if (lines.chars(from, to) <= sizes.maxChars && to - from < sizes.maxRows) {
      let last = to;
      while (last > from && lines.blank(last)) last--;
      if (!lines.blank(from) || last > from) atoms.push({ from, to: last, cut: CUT.statement, join: 0 });
    } else addRows(atoms, lines, from, to);
  };
  const first = starts[0]?.row ?? lines.count;
  if (first > 0) addRows(atoms, lines, 0, first - 1);
  for (const { startRow, endRow } of outline) add(startRow, endRow);
  return toChunks({ lines, atoms, nameOf: createNamer(outline), kind: "data", sizes, defining: false });
};
