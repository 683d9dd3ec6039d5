import type { Language, Tree } from "web-tree-sitter";

/**
 * The named nodes of a syntax tree in flat arrays, in the order of the text: one walk of the cursor (each step of it is a
 * call into WebAssembly), after which every question about a node is an array access. Node 0 is the root.
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

/** More nodes than this (about 40 MB of source) are not looked at: memory stays bounded. */
const MAX_NODES = 8_000_000;
/** Deeper nesting is machine-made, and whoever walks the tree does so on the stack of its thread. */
const MAX_DEPTH = 600;

interface Vocabulary {
  readonly types: readonly string[];
  readonly named: Uint8Array;
  readonly fields: readonly (string | null)[];
}

const vocabularies = new WeakMap<Language, Vocabulary>();

const vocabularyOf = (language: Language): Vocabulary => {
  const known = vocabularies.get(language);
  if (known !== undefined) return known;
  const types = language.types;
  const named = new Uint8Array(types.length);
  for (let id = 0; id < types.length; id++) named[id] = language.nodeTypeIsNamed(id) ? 1 : 0;
  const vocabulary = { types, named, fields: language.fields };
  vocabularies.set(language, vocabulary);
  return vocabulary;
};

const startsOfLines = (text: string): Int32Array => {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return Int32Array.from(starts);
};

const grown = (array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
};

type Columns = readonly [Column, Column, Column, Column, Column, Column, Column];
type Column = Int32Array<ArrayBuffer>;

const columns = (room: number): Columns => {
  const column = (): Column => new Int32Array(room);
  return [column(), column(), column(), column(), column(), column(), column()];
};

/** Most files are small: their trees share one set of columns. */
const SCRATCH_NODES = 65_536;
let shared: Columns | undefined;
const scratch = (): Columns => {
  shared ??= columns(SCRATCH_NODES);
  return shared;
};

/** The result is valid until the next call: the arrays of small trees are used again. */
export const flatten = (tree: Tree, text: string): FlatTree => {
  const { types, named, fields } = vocabularyOf(tree.language);
  const wanted = Math.max(64, text.length >> 2);
  let room = Math.max(wanted, SCRATCH_NODES);
  let [type, field, start, end, parent, firstChild, nextSibling] =
    wanted > SCRATCH_NODES ? columns(room) : scratch();
  let count = 0;

  const cursor = tree.walk();
  try {
    const open: number[] = [];
    const last: number[] = [];
    for (;;) {
      const id = cursor.nodeTypeId;
      let down = false;
      // ERROR has the id 65535, beyond the table: its children are still worth a look.
      if (id >= named.length || named[id] === 1) {
        if (count >= room) {
          room *= 2;
          type = grown(type);
          field = grown(field);
          start = grown(start);
          end = grown(end);
          parent = grown(parent);
          firstChild = grown(firstChild);
          nextSibling = grown(nextSibling);
        }
        const node = count++;
        type[node] = id;
        field[node] = open.length === 0 ? 0 : cursor.currentFieldId;
        start[node] = cursor.startIndex;
        end[node] = cursor.endIndex;
        const depth = open.length;
        const above = depth === 0 ? -1 : (open[depth - 1] ?? -1);
        parent[node] = above;
        firstChild[node] = -1;
        nextSibling[node] = -1;
        const before = last[depth] ?? -1;
        if (before >= 0) nextSibling[before] = node;
        else if (above >= 0) firstChild[above] = node;
        last[depth] = node;
        if (count < MAX_NODES && open.length < MAX_DEPTH && cursor.gotoFirstChild()) {
          open.push(node);
          last[open.length] = -1;
          down = true;
        }
      }
      if (down) continue;
      while (!cursor.gotoNextSibling()) {
        if (open.length === 0 || !cursor.gotoParent()) {
          open.length = 0;
          break;
        }
        open.pop();
        if (open.length === 0) break;
      }
      if (open.length === 0) break;
    }
  } finally {
    cursor.delete();
  }

  const lineStarts = startsOfLines(text);
  let hint = 0;
  const line = (index: number): number => {
    let low = 0;
    let high = lineStarts.length - 1;
    // Questions come nearly in the order of the text.
    const here = lineStarts[hint] ?? 0;
    if (here <= index) {
      const next = lineStarts[hint + 1];
      if (next === undefined || index < next) return hint + 1;
      low = hint;
    } else high = Math.max(0, hint - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((lineStarts[middle] ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    hint = low;
    return low + 1;
  };
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
    line,
    lineStarts,
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
