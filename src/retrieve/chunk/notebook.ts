import type { SyntaxNode, SyntaxTree } from "../../syntax/syntax-tree.ts";
import { type Atom, addRows, CUT } from "./atoms.ts";
import type { Chunk } from "./chunk.ts";
import { plainTitle } from "./headings.ts";
import { toLines } from "./lines.ts";
import { createNamer, type OutlineEntry } from "./outline.ts";
import { MAX_CHUNKS, SIZES } from "./sizes.ts";
import { type Cut, toChunks } from "./to-chunks.ts";

const memberOf = (tree: SyntaxTree, object: SyntaxNode | undefined, key: string): SyntaxNode | undefined => {
  const isIt = (pair: SyntaxNode): boolean => {
    const written = tree.childOf(pair, "key");
    return written !== undefined && tree.textOf(written) === `"${key}"`;
  };
  const pair = object && tree.namedChildrenOf(object).find((one) => tree.typeOf(one) === "pair" && isIt(one));
  return pair && tree.childOf(pair, "value");
};

const HEADING = /^\s*"?(#{1,6})\s+(.*?)(?:\\n)?",?\s*$/;

/** Cuts a Jupyter notebook by the rows that contain the sources of its cells; outputs and metadata are left out. */
export const cutNotebook = (tree: SyntaxTree, text: string): Cut | undefined => {
  const lines = toLines(text);
  const objectsIn = (node: SyntaxNode): readonly SyntaxNode[] =>
    tree.namedChildrenOf(node).filter((child) => tree.typeOf(child) === "object");
  const list = memberOf(tree, objectsIn(tree.root)[0], "cells");
  const cells = list && objectsIn(list);
  if (cells === undefined || lines.count < cells.length) return undefined;
  const atoms: Atom[] = [];
  const outline: OutlineEntry[] = [];
  const prose: boolean[] = [];
  let covered = -1;
  for (const cell of cells) {
    const source = memberOf(tree, cell, "source");
    if (source === undefined) continue;
    // Without the rows of the brackets, where these are on rows of their own.
    const rows = tree.namedChildrenOf(source);
    const from = Math.max(covered + 1, (rows[0] ?? source).startRow);
    const to = (rows.at(-1) ?? source).endRow;
    if (to < from || (tree.typeOf(source) === "array" && rows.length === 0)) continue;
    covered = to;
    const kind = memberOf(tree, cell, "cell_type");
    const isProse = kind !== undefined && tree.textOf(kind) === '"markdown"';
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
    const fits = lines.chars(from, to) <= SIZES.maxChars && to - from < SIZES.maxRows;
    if (fits) atoms.push({ from, to, cut: isProse ? CUT.definition : CUT.statement, join: 0 });
    else addRows(atoms, lines, from, to, CUT.inside);
  }
  // Outputs lie between cells, so a chunk is one cell or a part of one.
  const chunks: Chunk[] = [];
  const maxChunks = MAX_CHUNKS.code;
  const nameOf = createNamer(outline);
  let partial = false;
  for (let at = 0; at < atoms.length && chunks.length <= maxChunks; ) {
    let end = at + 1;
    while (end < atoms.length && (atoms[end]?.from ?? 0) === (atoms[end - 1]?.to ?? 0) + 1) end++;
    const cut = toChunks({
      lines,
      atoms: atoms.slice(at, end),
      nameOf,
      kind: "code",
      sizes: SIZES,
      defining: false,
    });
    for (const chunk of cut.chunks)
      chunks.push({ ...chunk, kind: prose[chunk.startLine - 1] === true ? "prose" : "code" });
    partial ||= cut.partial;
    at = end;
  }
  return { chunks: chunks.slice(0, maxChunks), partial: partial || chunks.length > maxChunks };
};
