import { type Atom, addRows, CUT } from "./atoms.ts";
import type { ChunkKind } from "./chunk.ts";
import { headingOutline, rowText, type Structure } from "./headings.ts";
import { type Lines, toLines } from "./lines.ts";
import { markdownStructure } from "./markdown.ts";
import { HEADING_STYLES } from "./marked-headings.ts";
import { createNamer } from "./outline.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { type Cut, toChunks } from "./to-chunks.ts";

/** A heading without its text says nothing: this costs more than the worst size. */
const AFTER_HEADING = 3;
const LIST_ITEM = /^\s*(?:[-*+•]|\d+[.)])\s/;

const proseAtoms = (lines: Lines, { headings, blocks }: Structure, sizes: Sizes): Atom[] => {
  const heads = new Map(headings.map((heading) => [heading.row, heading] as const));
  const kept = new Map(blocks.map((block) => [block.from, block.to] as const));
  const atoms: Atom[] = [];
  let afterBlank = true;
  let afterHeading = false;
  let levelBefore = 0;
  for (let row = 0; row < lines.count; row++) {
    if (lines.blank(row)) {
      afterBlank = true;
      continue;
    }
    const heading = heads.get(row);
    if (heading !== undefined) {
      const cut = afterHeading ? CUT.paragraph : CUT.nested * (heading.level - 1);
      // A heading without text of its own stays with its first subsection.
      const opens = !afterHeading || heading.level <= levelBefore;
      atoms.push({ from: row, to: heading.endRow, cut, join: 0, opens });
      levelBefore = heading.level;
      row = heading.endRow;
      afterHeading = true;
      afterBlank = false;
      continue;
    }
    let cut: number = afterBlank ? CUT.paragraph : CUT.row;
    if (LIST_ITEM.test(rowText(lines, row))) cut = lines.indent(row) === 0 ? CUT.paragraph : CUT.inside;
    if (afterHeading) cut = AFTER_HEADING;
    const end = kept.get(row);
    if (end !== undefined) {
      const fits = lines.chars(row, end) <= sizes.maxChars && end - row < sizes.maxRows;
      if (fits) atoms.push({ from: row, to: end, cut, join: 0 });
      else {
        const at = atoms.length;
        addRows(atoms, lines, row, end, CUT.inside);
        const head = atoms[at];
        if (head !== undefined) atoms[at] = { ...head, cut };
      }
      row = end;
    } else atoms.push({ from: row, to: row, cut, join: 0 });
    afterHeading = false;
    afterBlank = false;
  }
  return atoms;
};

/** Cuts documents at their headings, so that no chunk crosses sections; fenced code and tables stay whole where they fit. */
export const cutProse = (text: string, language: string, kind: ChunkKind, sizes: Sizes = SIZES): Cut => {
  const lines = toLines(text);
  const read = Object.hasOwn(HEADING_STYLES, language) ? HEADING_STYLES[language] : undefined;
  const structure = (read ?? markdownStructure)(lines);
  const atoms = proseAtoms(lines, structure, sizes);
  const outline = headingOutline(structure.headings, lines.count);
  return toChunks({ lines, atoms, nameOf: createNamer(outline), kind, sizes, defining: false });
};
