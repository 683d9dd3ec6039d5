import type { Language, Tree } from "web-tree-sitter";
import { addressOf, treeMemory } from "./tree-sitter-core.ts";

/**
 * How web-tree-sitter 0.27 lays out a tree in its memory (subtree.h and parser.h of tree-sitter, 32-bit pointers). The
 * tests of the trees compare them with what the cursor says in every grammar, so that another version of the package
 * cannot change the layout unnoticed. `tree-reader.ts` explains what reading the memory directly gains.
 *
 * A subtree is eight bytes: a small leaf itself, or the address of a heap node, whose children are right before it.
 */
export const SUBTREE_BYTES = 8;

/** An inline subtree: bits of its first byte, and offsets of the rest. */
export const INLINE = {
  is: 1,
  visible: 2,
  named: 4,
  extra: 8,
  symbol: 1,
  paddingColumns: 4,
  paddingRows: 5,
  rowsMask: 15,
  padding: 6,
  size: 7,
} as const;

/** A heap node: offsets in bytes, and bits of its flags. */
export const HEAP = {
  padding: 4,
  paddingRows: 8,
  paddingColumns: 12,
  size: 16,
  sizeRows: 20,
  sizeColumns: 24,
  errorCost: 32,
  childCount: 36,
  symbol: 40,
  flags: 44,
  productionId: 66,
  visible: 1,
  named: 2,
  extra: 4,
} as const;

/** tree-sitter's type id of syntax errors, the same in all grammars. */
export const ERROR_TYPE = 65_535;

const LANGUAGE = {
  symbolCount: 4,
  aliasCount: 8,
  productionCount: 28,
  fieldCount: 32,
  maxAliases: 36,
  fieldMapSlices: 64,
  fieldMapEntries: 68,
  symbolMetadata: 72,
  publicSymbols: 76,
  aliasSequences: 84,
} as const;

/** What a grammar says about the children of its productions, copied out of memory once. */
export interface Productions {
  /** By symbol: its public id. */
  readonly publicSymbols: Uint16Array;
  /** By symbol: 1 where it is named, and not a literal token. */
  readonly namedSymbols: Uint8Array;
  /** By production and child: the symbol that replaces its own; 0 where none does. */
  readonly aliases: Uint16Array;
  readonly aliasesEach: number;
  /** By production and child: its field; 0 where it has none. */
  readonly fields: Uint16Array;
  readonly fieldsEach: number;
}

/** Whether a symbol is visible, named, a supertype. */
const METADATA_BYTES = 3;

const known = new WeakMap<Language, Productions>();

/**
 * Which child of a production has which field. Slices are pairs of a first entry and a count; an entry is a field, one
 * byte for the child, and one that says whether it was taken from a hidden child.
 */
const readFields = (
  productions: number,
  slices: Uint16Array,
  readEntries: (count: number) => Uint16Array,
): Pick<Productions, "fields" | "fieldsEach"> => {
  let last = 0;
  for (let at = 0; at < slices.length; at += 2)
    last = Math.max(last, (slices[at] ?? 0) + (slices[at + 1] ?? 0));
  const entries = readEntries(last * 2);
  let fieldsEach = 1;
  for (let at = 1; at < entries.length; at += 2)
    fieldsEach = Math.max(fieldsEach, ((entries[at] ?? 0) & 0xff) + 1);
  const fields = new Uint16Array(productions * fieldsEach);
  for (let id = 0; id * 2 < slices.length; id++) {
    const from = slices[id * 2] ?? 0;
    const to = from + (slices[id * 2 + 1] ?? 0);
    for (let entry = from; entry < to; entry++) {
      const child = entries[entry * 2 + 1] ?? 0;
      const at = id * fieldsEach + (child & 0xff);
      const isInherited = child >> 8 !== 0;
      if (!isInherited && fields[at] === 0) fields[at] = entries[entry * 2] ?? 0;
    }
  }
  return { fields, fieldsEach };
};

const readProductions = (languageAddress: number): Productions => {
  const view = new DataView(treeMemory(), languageAddress);
  const number = (at: number): number => view.getUint32(at, true);
  const readUint16 = (address: number, count: number): Uint16Array =>
    new Uint16Array(treeMemory(), address, count).slice();
  const productions = number(LANGUAGE.productionCount);
  const aliasesEach = view.getUint16(LANGUAGE.maxAliases, true);
  const { fields, fieldsEach } = readFields(
    productions,
    number(LANGUAGE.fieldCount) > 0
      ? readUint16(number(LANGUAGE.fieldMapSlices), productions * 2)
      : new Uint16Array(),
    (count) => readUint16(number(LANGUAGE.fieldMapEntries), count),
  );
  const aliases = readUint16(number(LANGUAGE.aliasSequences), productions * aliasesEach);
  // Production 0 is shared by all that have no aliases, whatever the memory holds there.
  aliases.fill(0, 0, aliasesEach);
  const symbols = number(LANGUAGE.symbolCount) + number(LANGUAGE.aliasCount);
  const metadata = new Uint8Array(treeMemory(), number(LANGUAGE.symbolMetadata), symbols * METADATA_BYTES);
  return {
    publicSymbols: readUint16(number(LANGUAGE.publicSymbols), symbols),
    namedSymbols: Uint8Array.from(
      { length: symbols },
      (_, symbol) => metadata[symbol * METADATA_BYTES + 1] ?? 0,
    ),
    aliases,
    aliasesEach,
    fields,
    fieldsEach,
  };
};

/** A tree begins with its root, followed by its language. */
export const productionsOf = (tree: Tree): Productions => {
  const before = known.get(tree.language);
  if (before !== undefined) return before;
  const [languageAddress = 0] = new Uint32Array(treeMemory(), addressOf(tree) + SUBTREE_BYTES, 1);
  const productions = readProductions(languageAddress);
  known.set(tree.language, productions);
  return productions;
};
