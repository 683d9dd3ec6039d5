import type { SyntaxNode, SyntaxTree } from "../../syntax/syntax-tree.ts";
import { type Atom, addRows, CUT } from "./atoms.ts";
import type { Lines } from "./lines.ts";
import type { OutlineEntry } from "./outline.ts";
import type { Sizes } from "./sizes.ts";
import { lastRow, type OutlineRules } from "./syntax-outline.ts";

/** Chained calls nest one level per call; deeper nodes are cut by rows. */
const MAX_DEPTH = 100;
/** Costs do not grow any more beyond this depth. */
const MAX_PRICED_DEPTH = 6;

/** The end of a class or a long function should not share a chunk with what follows it. */
const JOIN_AFTER_SPLIT = 0.15;

/** Rows of a child with the comments before it; `node` is set where it is too large for one atom. */
interface Segment {
  from: number;
  to: number;
  node: SyntaxNode | undefined;
}

/** The cost of a cut at the rows where definitions start. */
const definitionPrices = (outline: readonly OutlineEntry[]): ReadonlyMap<number, number> => {
  const prices = new Map<number, number>();
  let above = "";
  for (const { qualified, depth, startRow } of outline) {
    // A further clause of the same function belongs to it.
    const price = qualified === above ? CUT.paragraph : CUT.definition + CUT.nested * depth;
    prices.set(startRow, Math.min(price, prices.get(startRow) ?? price));
    above = qualified;
  }
  return prices;
};

/** Whether there is text on rows without a node, such as the markup around a script. */
const hasText = (lines: Lines, from: number, to: number): boolean => {
  for (let row = from; row <= to; row++) if (!lines.blank(row)) return true;
  return false;
};

/** Moves comments at the end of a segment to the next one, which they describe. */
const moveStrayComments = (
  segments: readonly Segment[],
  lines: Lines,
  strayComment: string | undefined,
): readonly Segment[] => {
  if (strayComment === undefined) return segments;
  segments.forEach((segment, i) => {
    const next = segments[i + 1];
    if (next === undefined || next.from !== segment.to + 1) return;
    while (segment.to > segment.from && lines.slice(segment.to, segment.to).startsWith(strayComment))
      next.from = segment.to--;
  });
  return segments;
};

/** For each row, the first row at or below it where a definition starts. */
const nextStarts = (count: number, prices: ReadonlyMap<number, number>): Int32Array => {
  const starts = new Int32Array(count + 1).fill(count);
  for (let row = count - 1; row >= 0; row--) starts[row] = prices.has(row) ? row : (starts[row + 1] ?? count);
  return starts;
};

export const syntaxAtoms = (
  tree: SyntaxTree,
  lines: Lines,
  rules: OutlineRules,
  outline: readonly OutlineEntry[],
  sizes: Sizes,
): Atom[] => {
  const prices = definitionPrices(outline);
  const nextStart = nextStarts(lines.count, prices);
  const tooLarge = (from: number, to: number): boolean =>
    lines.chars(from, to) > sizes.maxChars || to - from + 1 > sizes.maxRows;

  /** The children of a node as rows from `from` to `to`: each row belongs to the first child with text on it. */
  const segmentsOf = (parent: SyntaxNode, from: number, to: number, atRoot: boolean): Segment[] => {
    const segments: Segment[] = [];
    let covered = from - 1;
    /** The first row of the comments before the next child. */
    let lead = -1;
    for (const child of tree.childrenOf(parent)) {
      const { startRow } = child;
      const endRow = Math.min(to, lastRow(child));
      if (endRow <= covered) continue;
      if (rules.leading.has(child.typeId)) {
        const before = segments.at(-1);
        // A comment on the last row of the previous child belongs to that one.
        if (startRow <= covered && before !== undefined) before.to = endRow;
        else {
          const apart = lead >= 0 && startRow > covered + 1;
          if (apart) segments.push({ from: lead, to: covered, node: undefined });
          if (lead < 0 || apart) lead = covered + 1;
        }
        covered = endRow;
        continue;
      }
      const apart = lead >= 0 && (startRow > covered + 1 || lines.chars(lead, covered) > sizes.maxChars / 2);
      if (apart) {
        segments.push({ from: lead, to: covered, node: undefined });
        lead = -1;
      }
      if (atRoot && lead < 0 && hasText(lines, covered + 1, startRow - 1)) {
        segments.push({ from: covered + 1, to: startRow - 1, node: undefined });
        covered = startRow - 1;
      }
      const start = lead >= 0 ? lead : covered + 1;
      lead = -1;
      const last = segments.at(-1);
      if (!child.isNamed && startRow === endRow && last !== undefined) last.to = endRow;
      else
        segments.push({
          from: start,
          to: endRow,
          node: tooLarge(start, endRow) ? child : undefined,
        });
      covered = endRow;
    }
    if (lead >= 0) segments.push({ from: lead, to: covered, node: undefined });
    const last = segments.at(-1);
    if (last === undefined) return [{ from, to, node: undefined }];
    if (atRoot && hasText(lines, last.to + 1, to)) segments.push({ from: last.to + 1, to, node: undefined });
    else last.to = to;
    return segments;
  };

  const atoms: Atom[] = [];
  const priceOf = (from: number, to: number, depth: number): number => {
    const start = nextStart[from] ?? lines.count;
    if (start <= to) return prices.get(start) ?? CUT.statement;
    if (depth === 0) return CUT.statement;
    const apart = from > 0 && (lines.blank(from) || lines.blank(from - 1));
    const priced = Math.min(depth, MAX_PRICED_DEPTH);
    return (apart ? CUT.paragraph : CUT.inside) + CUT.nested * priced;
  };

  const visit = (parent: SyntaxNode, from: number, to: number, depth: number): void => {
    let afterSplit = false;
    for (const segment of moveStrayComments(
      segmentsOf(parent, from, to, depth === 0),
      lines,
      rules.strayComment,
    )) {
      let start = segment.from;
      while (start < segment.to && lines.blank(start)) start++;
      if (lines.blank(start)) continue;
      const cut = priceOf(start, segment.to, depth);
      const join = afterSplit && cut < CUT.paragraph ? JOIN_AFTER_SPLIT : 0;
      const at = atoms.length;
      afterSplit = tooLarge(start, segment.to) && start < segment.to;
      if (!afterSplit) atoms.push({ from: start, to: segment.to, cut, join });
      else if (segment.node !== undefined && depth < MAX_DEPTH)
        visit(segment.node, start, segment.to, depth + 1);
      else addRows(atoms, lines, start, segment.to, CUT.paragraph);
      const head = atoms[at];
      if (head !== undefined) atoms[at] = { ...head, cut, join };
    }
  };
  if (lines.count > 0) visit(tree.root, 0, lines.count - 1, 0);
  return atoms;
};
