import type { Lines } from "./lines.ts";

/** Rows that are never separated. The atoms of a file are in order and cover everything but blank rows. */
export interface Atom {
  readonly from: number;
  readonly to: number;
  /** The cost of starting a chunk here, besides the cost of its size: 0 at a definition, 1 inside an expression. */
  readonly cut: number;
  /** The cost of keeping it in one chunk with the atom before. */
  readonly join: number;
  /** No chunk reaches from before it into it: it starts a section. */
  readonly opens?: boolean;
}

/** Costs of cuts: a chunk of half the target size costs 0.25, so that a cut worth 0.1 moves by a third of a chunk at most. */
export const CUT = {
  definition: 0,
  /** Per level of nesting of a definition. */
  nested: 0.04,
  /** A statement of the file that defines nothing. */
  statement: 0.08,
  paragraph: 0.25,
  inside: 0.5,
  row: 0.9,
} as const;

const CLOSING = /^[)\]}>]/;
const CLOSING_KEYWORD = /^(?:end|else|elif|elsif|except|finally|catch|done|fi|esac|rescue|ensure)\b/;

const closes = (lines: Lines, row: number): boolean =>
  CLOSING.test(lines.first(row)) || CLOSING_KEYWORD.test(lines.slice(row, row).trimStart().slice(0, 8));

/**
 * One atom per row, cheap to cut where blank rows and a small indentation suggest that something starts. `base` is the minimum
 * cost of a cut.
 */
export const addRows = (atoms: Atom[], lines: Lines, from: number, to: number, base = 0): void => {
  let least = Number.POSITIVE_INFINITY;
  for (let row = from; row <= to; row++) if (!lines.blank(row)) least = Math.min(least, lines.indent(row));
  let afterBlank = true;
  for (let row = from; row <= to; row++) {
    if (lines.blank(row)) {
      afterBlank = true;
      continue;
    }
    const outer = lines.indent(row) <= least;
    let cut: number = afterBlank ? CUT.inside : CUT.row;
    if (outer && !closes(lines, row)) cut = afterBlank ? CUT.statement : CUT.inside;
    atoms.push({ from: row, to: row, cut: Math.max(base, cut), join: 0 });
    afterBlank = false;
  }
};

export const rowAtoms = (lines: Lines, from: number, to: number): Atom[] => {
  const atoms: Atom[] = [];
  addRows(atoms, lines, from, to);
  return atoms;
};
