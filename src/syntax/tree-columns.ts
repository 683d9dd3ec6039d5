import type { Language, Tree } from "web-tree-sitter";
import { HEAP, INLINE, productionsOf, SUBTREE_BYTES } from "./tree-layout.ts";
import { addressOf, treeMemory } from "./tree-sitter-core.ts";

/** More nodes than this (about 40 MB of source) are not looked at: memory stays bounded. */
const MAX_NODES = 8_000_000;
/** Deeper nesting is machine-made, and whoever walks the tree does so on the stack of its thread. */
const MAX_DEPTH = 600;
/** The same, with the hidden nodes in between. */
const MAX_LEVELS = 2_400;

/** What a grammar calls things. */
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

/** The result is valid until the next call: the arrays of small trees are used again. */
export const readColumns = (tree: Tree, chars: number): TreeColumns => {
  const vocabulary = vocabularyOf(tree.language);
  const { named, whole } = vocabulary;
  const wanted = Math.max(64, chars >> 2);
  let room = Math.max(wanted, SCRATCH_NODES);
  let [type, field, start, end, parent, firstChild, nextSibling] =
    wanted > SCRATCH_NODES ? columns(room) : scratch();
  let count = 0;

  const { publicSymbols, aliases, aliasesEach, fields: fieldTable, fieldsEach } = productionsOf(tree);
  const bytes = new Uint8Array(treeMemory());
  const shorts = new Uint16Array(treeMemory());
  const numbers = new Uint32Array(treeMemory());
  /** By depth, the node that was seen last. */
  const last: number[] = [];

  const add = (
    id: number,
    fieldId: number,
    from: number,
    to: number,
    above: number,
    depth: number,
  ): number => {
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
    field[node] = fieldId;
    start[node] = from;
    end[node] = to;
    parent[node] = above;
    firstChild[node] = -1;
    nextSibling[node] = -1;
    const before = last[depth] ?? -1;
    if (before >= 0) nextSibling[before] = node;
    else if (above >= 0) firstChild[above] = node;
    last[depth] = node;
    return node;
  };

  /** Children of one node as it is stored; those of hidden ones count as children of `above`. */
  const visit = (
    first: number,
    childCount: number,
    production: number,
    hiddenField: number,
    position: number,
    above: number,
    depth: number,
    level: number,
  ): void => {
    let at = position;
    let index = 0;
    for (let child = 0; child < childCount; child++) {
      const address = first + child * SUBTREE_BYTES;
      const head = bytes[address] ?? 0;
      const isInline = (head & INLINE.is) !== 0;
      const heap = isInline ? 0 : (numbers[address >> 2] ?? 0);
      const flags = isInline ? head : (bytes[heap + HEAP.flags] ?? 0);
      const isExtra = (flags & (isInline ? INLINE.extra : HEAP.extra)) !== 0;
      if (child > 0)
        at += (isInline ? bytes[address + INLINE.padding] : numbers[(heap + HEAP.padding) >> 2]) ?? 0;
      const size = (isInline ? bytes[address + INLINE.size] : numbers[(heap + HEAP.size) >> 2]) ?? 0;
      let alias = 0;
      let fieldId = 0;
      if (!isExtra) {
        if (index < aliasesEach) alias = aliases[production * aliasesEach + index] ?? 0;
        if (index < fieldsEach) fieldId = fieldTable[production * fieldsEach + index] ?? 0;
        if (fieldId === 0) fieldId = hiddenField;
        index++;
      }
      const isShown = alias !== 0 || (flags & (isInline ? INLINE.visible : HEAP.visible)) !== 0;
      const symbol =
        alias !== 0
          ? alias
          : ((isInline ? bytes[address + INLINE.symbol] : shorts[(heap + HEAP.symbol) >> 1]) ?? 0);
      let node = above;
      let down = heap !== 0;
      if (isShown) {
        const id = publicSymbols[symbol] ?? symbol;
        // ERROR has the number 65535, beyond the table: its children are still worth a look.
        const isNamed = id >= named.length || named[id] === 1;
        if (isNamed) node = add(id, fieldId, at >> 1, (at + size) >> 1, above, depth);
        down &&= isNamed && whole[id] !== 1 && count < MAX_NODES && depth < MAX_DEPTH;
        if (down) last[depth + 1] = -1;
      }
      if (down && level < MAX_LEVELS) {
        const grandchildren = numbers[(heap + HEAP.childCount) >> 2] ?? 0;
        if (grandchildren > 0)
          visit(
            heap - grandchildren * SUBTREE_BYTES,
            grandchildren,
            shorts[(heap + HEAP.productionId) >> 1] ?? 0,
            isShown ? 0 : fieldId,
            at,
            node,
            isShown ? depth + 1 : depth,
            level + 1,
          );
      }
      at += size;
    }
  };

  const root = addressOf(tree);
  const rootHead = bytes[root] ?? 0;
  const rootPadding =
    (rootHead & INLINE.is) === 0
      ? numbers[((numbers[root >> 2] ?? 0) + HEAP.padding) >> 2]
      : bytes[root + INLINE.padding];
  visit(root, 1, 0, 0, rootPadding ?? 0, -1, 0, 0);

  return { vocabulary, count, type, field, start, end, parent, firstChild, nextSibling };
};
