import type { Language, Tree } from "web-tree-sitter";
import { createNodeList, createTreeReader, NODE } from "./tree-reader.ts";

/** More nodes than this (about 40 MB of source) are not looked at: memory stays bounded. */
const MAX_NODES = 8_000_000;
/** Deeper nesting is machine-made, and whoever walks the tree does so on the stack of its thread. */
const MAX_DEPTH = 600;

/** What a grammar calls things. */
interface Vocabulary {
  readonly types: readonly string[];
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
  const whole = Uint8Array.from(types, (type) => (isWhole(type, types) ? 1 : 0));
  const vocabulary = { types, whole, fields: language.fields };
  vocabularies.set(language, vocabulary);
  return vocabulary;
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

/** What the named nodes of a tree are, by their number, in the order of the text. Plain data. */
export interface TreeColumns {
  readonly vocabulary: Pick<Vocabulary, "types" | "fields">;
  readonly count: number;
  readonly type: Int32Array;
  readonly field: Int32Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  readonly parent: Int32Array;
  readonly firstChild: Int32Array;
  readonly nextSibling: Int32Array;
}

const pending = createNodeList();

/** The result is valid until the next call: the arrays of small trees are used again. */
export const readColumns = (tree: Tree, chars: number): TreeColumns => {
  const vocabulary = vocabularyOf(tree.language);
  const { whole } = vocabulary;
  const wanted = Math.max(64, chars >> 2);
  let room = Math.max(wanted, SCRATCH_NODES);
  let [type, field, start, end, parent, firstChild, nextSibling] =
    wanted > SCRATCH_NODES ? columns(room) : scratch();
  let count = 0;
  const reader = createTreeReader(tree);

  const grow = (): void => {
    room *= 2;
    type = grown(type);
    field = grown(field);
    start = grown(start);
    end = grown(end);
    parent = grown(parent);
    firstChild = grown(firstChild);
    nextSibling = grown(nextSibling);
  };

  /** Adds the nodes of `pending` from an index on, with all that is below them, and takes them off. */
  const addPending = (from: number, above: number, depth: number): void => {
    const to = pending.length;
    let before = -1;
    for (let at = from; at < to; at += NODE.length) {
      const { numbers } = pending;
      if (numbers[at + NODE.isNamed] !== 1) continue;
      if (count >= room) grow();
      const node = count++;
      const id = numbers[at + NODE.typeId] ?? 0;
      const begin = numbers[at + NODE.start] ?? 0;
      type[node] = id;
      field[node] = numbers[at + NODE.fieldId] ?? 0;
      start[node] = begin;
      end[node] = numbers[at + NODE.end] ?? 0;
      parent[node] = above;
      firstChild[node] = -1;
      nextSibling[node] = -1;
      if (before >= 0) nextSibling[before] = node;
      else if (above >= 0) firstChild[above] = node;
      before = node;
      if (whole[id] === 1 || count >= MAX_NODES || depth >= MAX_DEPTH) continue;
      reader.pushChildren(numbers[at + NODE.address] ?? 0, begin, pending);
      if (pending.length > to) addPending(to, node, depth + 1);
    }
    pending.length = from;
  };

  pending.length = 0;
  reader.pushRoot(pending);
  addPending(0, -1, 0);
  return { vocabulary, count, type, field, start, end, parent, firstChild, nextSibling };
};
