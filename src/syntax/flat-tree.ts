import { createLineFinder } from "./line-finder.ts";
import type { TreeColumns } from "./tree-columns.ts";

/**
 * The named nodes of a syntax tree in flat arrays, in the order of the text: one walk through tree-sitter's memory,
 * after which every question about a node is an array access. Node 0 is the root.
 */
export interface FlatTree {
  readonly text: string;
  readonly count: number;
  /** Name of the node type. */
  type(node: number): string;
  /** Number of the node type: a place in `types`, or beyond it for an error. */
  readonly typeIds: Int32Array;
  readonly types: readonly string[];
  readonly start: Int32Array;
  readonly end: Int32Array;
  readonly parent: Int32Array;
  /** -1 where there is none. */
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
  /** Counted from 1. */
  line(index: number): number;
  slice(node: number): string;
  /** First child with that field name; -1 where there is none. */
  field(node: number, name: string): number;
  fieldName(node: number): string;
  /** Column (0) of the line: does the node start its line's text. */
  readonly lineStarts: Int32Array;
}

/** Columns with the text that they are of, ready to be asked. */
export const toFlatTree = (columns: TreeColumns, text: string): FlatTree => {
  const { count, type, field, start, end, parent, firstChild, nextSibling } = columns;
  const { types, fields } = columns.vocabulary;
  const lines = createLineFinder(text);
  const fieldName = (node: number): string => fields[field[node] ?? 0] ?? "";

  return {
    text,
    count,
    type: (node) => types[type[node] ?? 0] ?? "ERROR",
    typeIds: type,
    types,
    start,
    end,
    parent,
    firstChild,
    nextSibling,
    line: (offset) => lines.rowAt(offset) + 1,
    lineStarts: lines.starts,
    slice: (node) => text.slice(start[node], end[node]),
    fieldName,
    field: (node, name) => {
      for (let child = firstChild[node] ?? -1; child >= 0; child = nextSibling[child] ?? -1) {
        if (fieldName(child) === name) return child;
      }
      return -1;
    },
  };
};
