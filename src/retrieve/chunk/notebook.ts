import type { Node, Tree } from "web-tree-sitter";
import type { Chunk } from "../contract.ts";
import { type Atom, addRows, CUT } from "./atoms.ts";
import { plainTitle } from "./headings.ts";
import { toLines } from "./lines.ts";
import type { OutlineEntry } from "./outline.ts";
import { MAX_CHUNKS, SIZES, type Sizes } from "./sizes.ts";
import { type Cut, toChunks } from "./to-chunks.ts";

const memberOf = (object: Node | undefined, key: string): Node | undefined =>
  object?.namedChildren
    .find((pair) => pair.type === "pair" && pair.childForFieldName("key")?.text === `"${key}"`)
    ?.childForFieldName("value") ?? undefined;

const HEADING = /^\s*"?(#{1,6})\s+(.*?)(?:\\n)?",?\s*$/;

/** Cells of a Jupyter notebook, by the rows of the file that hold their sources; outputs and metadata are left out. */
export const cutNotebook = (tree: Tree, text: string, sizes: Sizes = SIZES): Cut | undefined => {
  const lines = toLines(text);
  const root = tree.rootNode.namedChildren.find((child) => child.type === "object");
  const cells = memberOf(root, "cells")?.namedChildren.filter((cell) => cell.type === "object");
  if (cells === undefined || lines.count < cells.length) return undefined;
  const atoms: Atom[] = [];
  const outline: OutlineEntry[] = [];
  const prose: boolean[] = [];
  let covered = -1;
  for (const cell of cells) {
    const source = memberOf(cell, "source");
    if (source === undefined) continue;
    // Without the rows of the brackets, where they stand apart.
    const first = source.namedChild(0) ?? source;
    const last = source.namedChild(source.namedChildCount - 1) ?? source;
    const from = Math.max(covered + 1, first.startPosition.row);
    const to = last.endPosition.row;
    if (to < from || (source.type === "array" && source.namedChildCount === 0)) continue;
    covered = to;
    const isProse = memberOf(cell, "cell_type")?.text === '"markdown"';
    for (let row = from; row <= to; row++) prose[row] = isProse;
    for (let row = from; isProse && row <= to; row++) {
      const found = lines.chars(row, row) > 400 ? null : HEADING.exec(lines.slice(row, row));
      const title = plainTitle(found?.[2] ?? "");
      if (found === null || title === "") continue;
      const previous = outline.pop();
      if (previous !== undefined) outline.push({ ...previous, endRow: row - 1 });
      outline.push({
        name: title,
        qualified: title,
        depth: 0,
        nameRow: row,
        startRow: row,
        endRow: lines.count - 1,
      });
    }
    const fits = lines.chars(from, to) <= sizes.maxChars && to - from < sizes.maxRows;
    if (fits) atoms.push({ from, to, cut: isProse ? CUT.definition : CUT.statement, join: 0 });
    else addRows(atoms, lines, from, to, CUT.inside);
  }
  // Outputs stand between cells: chunks are made of one cell each, or of the parts of one.
  const chunks: Chunk[] = [];
  let partial = false;
  for (let at = 0; at < atoms.length; ) {
    let end = at + 1;
    while (end < atoms.length && (atoms[end]?.from ?? 0) === (atoms[end - 1]?.to ?? 0) + 1) end++;
    const cut = toChunks({
      lines,
      atoms: atoms.slice(at, end),
      outline,
      kind: "code",
      sizes,
      defining: false,
    });
    for (const chunk of cut.chunks)
      chunks.push({ ...chunk, kind: prose[chunk.startLine - 1] === true ? "prose" : "code" });
    partial ||= cut.partial;
    at = end;
  }
  const most = MAX_CHUNKS.code;
  return { chunks: chunks.slice(0, most), partial: partial || chunks.length > most };
};
