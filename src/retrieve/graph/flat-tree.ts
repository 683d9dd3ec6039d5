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
  /** Types whose nodes are taken as a whole: a step down that finds nothing is as costly as one that finds something. */
  readonly whole: Uint8Array;
  readonly fields: readonly (string | null)[];
}

const WHOLE = new Set(
  `comment line_comment block_comment multiline_comment interpreted_string_literal raw_string_literal char_literal
  character_literal number number_literal integer float integer_literal float_literal decimal_integer_literal int_literal
  property_identifier private_property_identifier type_identifier field_identifier shorthand_property_identifier
  shorthand_property_identifier_pattern statement_identifier label_name primitive_type string_start
  string_content string_end string_fragment escape_sequence true false null none this self super`.split(
    /\s+/,
  ),
);

/** Whether nothing that names a symbol can be inside; grammars use some of the words for different things. */
const isWhole = (type: string, types: readonly string[]): boolean => {
  // Where there are simple identifiers, the others are dotted.
  if (type === "identifier") return !types.includes("simple_identifier");
  if (type === "string") return types.includes("template_string");
  if (type === "string_literal") return !types.some((other) => other?.includes("interpol"));
  return WHOLE.has(type);
};

const vocabularies = new WeakMap<Language, Vocabulary>();

const vocabularyOf = (language: Language): Vocabulary => {
  const known = vocabularies.get(language);
  if (known !== undefined) return known;
  const types = language.types;
  const named = new Uint8Array(types.length);
  for (let id = 0; id < types.length; id++) named[id] = language.nodeTypeIsNamed(id) ? 1 : 0;
  const whole = Uint8Array.from(types, (type) => (isWhole(type, types) ? 1 : 0));
  const vocabulary = { types, named, whole, fields: language.fields };
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
  const { types, named, whole, fields } = vocabularyOf(tree.language);
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
        const canGoDown = whole[id] !== 1 && count < MAX_NODES && open.length < MAX_DEPTH;
        if (canGoDown && cursor.gotoFirstChild()) {
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
