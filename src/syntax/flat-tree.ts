import type { Language, Tree } from "web-tree-sitter";
import { createLineFinder } from "./line-finder.ts";
import { createNodeList, createTreeReader, NODE, type TreeReader } from "./tree-reader.ts";

/** More nodes (about 40 MB of source) are not read: memory stays bounded. */
const MAX_NODES = 8_000_000;
/** Deeper nesting is generated, and walking the tree takes stack. */
const MAX_DEPTH = 600;

/** Node types that are not read into: looking for children where there are none costs as much as finding some. */
const WHOLE = new Set(
  `comment line_comment block_comment multiline_comment interpreted_string_literal raw_string_literal char_literal
  character_literal number number_literal integer float integer_literal float_literal decimal_integer_literal int_literal
  property_identifier private_property_identifier type_identifier field_identifier shorthand_property_identifier
  shorthand_property_identifier_pattern statement_identifier label_name primitive_type string_start
  string_content string_end string_fragment escape_sequence true false null none this self super`.split(
    /\s+/,
  ),
);

/** Whether such a node cannot contain names; some type names mean different things in different grammars. */
const isWhole = (type: string, types: readonly string[]): boolean => {
  // Where there are simple identifiers, an `identifier` is a dotted name.
  if (type === "identifier") return !types.includes("simple_identifier");
  if (type === "string") return types.includes("template_string");
  if (type === "string_literal") return !types.some((other) => other?.includes("interpol"));
  return WHOLE.has(type);
};

const wholeTypes = new WeakMap<Language, Uint8Array>();

const wholeTypesOf = (language: Language): Uint8Array => {
  const { types } = language;
  const known = wholeTypes.get(language) ?? Uint8Array.from(types, (type) => (isWhole(type, types) ? 1 : 0));
  wholeTypes.set(language, known);
  return known;
};

const COLUMNS = ["type", "field", "start", "end", "parent", "firstChild", "nextSibling"] as const;
type Columns = Record<(typeof COLUMNS)[number], Int32Array>;

const createColumns = (size: number): Columns => ({
  type: new Int32Array(size),
  field: new Int32Array(size),
  start: new Int32Array(size),
  end: new Int32Array(size),
  parent: new Int32Array(size),
  firstChild: new Int32Array(size),
  nextSibling: new Int32Array(size),
});

const growColumns = (columns: Columns): void => {
  const larger = createColumns(columns.type.length * 2);
  for (const name of COLUMNS) larger[name].set(columns[name]);
  Object.assign(columns, larger);
};

/** Most files are small: their trees share one set of columns. */
const SHARED_NODES = 65_536;
let shared: Columns | undefined;
const columnsFor = (chars: number): Columns => {
  // Sources have at most about one named node in four characters.
  if (chars >> 2 > SHARED_NODES) return createColumns(chars >> 2);
  shared ??= createColumns(SHARED_NODES);
  return shared;
};

interface Reading {
  readonly reader: TreeReader;
  readonly whole: Uint8Array;
  readonly columns: Columns;
  count: number;
}

/** Nodes that were read and not added yet. */
const pending = createNodeList();

/** Adds the nodes of `pending` from an index on, with all that is below them, and takes them off. */
const addPending = (reading: Reading, from: number, above: number, depth: number): void => {
  const { columns, reader, whole } = reading;
  const to = pending.length;
  let before = -1;
  for (let at = from; at < to; at += NODE.length) {
    const { numbers } = pending;
    if (numbers[at + NODE.isNamed] !== 1) continue;
    if (reading.count >= columns.type.length) growColumns(columns);
    const node = reading.count++;
    const id = numbers[at + NODE.typeId] ?? 0;
    const start = numbers[at + NODE.start] ?? 0;
    columns.type[node] = id;
    columns.field[node] = numbers[at + NODE.fieldId] ?? 0;
    columns.start[node] = start;
    columns.end[node] = numbers[at + NODE.end] ?? 0;
    columns.parent[node] = above;
    columns.firstChild[node] = -1;
    columns.nextSibling[node] = -1;
    if (before >= 0) columns.nextSibling[before] = node;
    else if (above >= 0) columns.firstChild[above] = node;
    before = node;
    if (whole[id] === 1 || reading.count >= MAX_NODES || depth >= MAX_DEPTH) continue;
    reader.pushChildren(numbers[at + NODE.address] ?? 0, start, pending);
    if (pending.length > to) addPending(reading, to, node, depth + 1);
  }
  pending.length = from;
};

const readColumns = (tree: Tree, chars: number): Columns & { readonly count: number } => {
  const reader = createTreeReader(tree);
  const columns = columnsFor(chars);
  const reading: Reading = { reader, whole: wholeTypesOf(tree.language), columns, count: 0 };
  pending.length = 0;
  reader.pushRoot(pending);
  addPending(reading, 0, -1, 0);
  return { ...columns, count: reading.count };
};

/**
 * The named nodes of a syntax tree in flat arrays, in the order of the text: one walk through tree-sitter's memory,
 * after which every question about a node is an array access. Node 0 is the root. Valid until the next one is read: the
 * arrays of small trees are used again.
 */
export const readFlatTree = (tree: Tree, text: string) => {
  const { count, type, field, start, end, parent, firstChild, nextSibling } = readColumns(tree, text.length);
  const { types, fields } = tree.language;
  const lines = createLineFinder(text);
  const fieldName = (node: number): string => fields[field[node] ?? 0] ?? "";
  return {
    text,
    count,
    /** Name of the node type. */
    type: (node: number): string => types[type[node] ?? 0] ?? "ERROR",
    /** Number of the node type: an index in `types`, or beyond it for an error. */
    typeIds: type,
    types,
    start,
    end,
    parent,
    /** -1 where there is none. */
    firstChild,
    nextSibling,
    /** Counted from 1. */
    line: (offset: number): number => lines.rowAt(offset) + 1,
    slice: (node: number): string => text.slice(start[node], end[node]),
    fieldName,
    /** First child with that field name; -1 where there is none. */
    field: (node: number, name: string): number => {
      for (let child = firstChild[node] ?? -1; child >= 0; child = nextSibling[child] ?? -1) {
        if (fieldName(child) === name) return child;
      }
      return -1;
    },
  };
};

export type FlatTree = ReturnType<typeof readFlatTree>;
