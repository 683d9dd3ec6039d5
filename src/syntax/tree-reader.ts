import type { Tree } from "web-tree-sitter";
import { HEAP, INLINE, productionsOf, SUBTREE_BYTES } from "./tree-layout.ts";
import { addressOf, treeMemory } from "./tree-sitter-core.ts";

/** Numbers of one node in a `NodeList`, by their offset. Positions are in UTF-16 units. */
export const NODE = { typeId: 0, isNamed: 1, fieldId: 2, start: 3, end: 4, address: 5, length: 6 } as const;

/** Nodes one after the other. The caller may take them off the end again by setting `length`. */
export interface NodeList {
  numbers: Int32Array;
  length: number;
}

export const createNodeList = (): NodeList => ({ numbers: new Int32Array(1024 * NODE.length), length: 0 });

/** Hidden nodes nest deeper only in trees that are broken on purpose. */
const MAX_HIDDEN = 500;

const push = (
  list: NodeList,
  typeId: number,
  isNamed: boolean,
  fieldId: number,
  start: number,
  end: number,
  address: number,
): void => {
  const at = list.length;
  if (at + NODE.length > list.numbers.length) {
    const larger = new Int32Array(list.numbers.length * 2);
    larger.set(list.numbers);
    list.numbers = larger;
  }
  const { numbers } = list;
  numbers[at + NODE.typeId] = typeId;
  numbers[at + NODE.isNamed] = isNamed ? 1 : 0;
  numbers[at + NODE.fieldId] = fieldId;
  numbers[at + NODE.start] = start;
  numbers[at + NODE.end] = end;
  numbers[at + NODE.address] = address;
  list.length = at + NODE.length;
};

/**
 * Reads nodes out of tree-sitter's memory; nothing else decodes them. The cursor of web-tree-sitter says the same by one
 * call into WebAssembly per question and takes 98 ms of CPU per MB of source instead of 28 ms, next to 221 ms of parsing
 * (`npm run bench -- trees`). Valid until the tree is deleted or another text is parsed.
 */
export const createTreeReader = (tree: Tree) => {
  const { publicSymbols, namedSymbols, aliases, aliasesEach, fields, fieldsEach } = productionsOf(tree);
  const bytes = new Uint8Array(treeMemory());
  const shorts = new Uint16Array(treeMemory());
  const numbers = new Uint32Array(treeMemory());
  const numberAt = (address: number): number => numbers[address >> 2] ?? 0;

  /** Subtrees of one production, the first of which begins at `position` (bytes); hidden ones give their own children. */
  const collect = (
    first: number,
    count: number,
    production: number,
    hiddenField: number,
    position: number,
    depth: number,
    list: NodeList,
  ): void => {
    let offset = position;
    let index = 0;
    for (let child = 0; child < count; child++) {
      const at = first + child * SUBTREE_BYTES;
      const head = bytes[at] ?? 0;
      const isInline = (head & INLINE.is) !== 0;
      const heap = isInline ? 0 : numberAt(at);
      const flags = isInline ? head : (bytes[heap + HEAP.flags] ?? 0);
      if (child > 0) offset += isInline ? (bytes[at + INLINE.padding] ?? 0) : numberAt(heap + HEAP.padding);
      const size = isInline ? (bytes[at + INLINE.size] ?? 0) : numberAt(heap + HEAP.size);
      let alias = 0;
      let fieldId = 0;
      const isExtra = (flags & (isInline ? INLINE.extra : HEAP.extra)) !== 0;
      if (!isExtra) {
        if (index < aliasesEach) alias = aliases[production * aliasesEach + index] ?? 0;
        if (index < fieldsEach) fieldId = fields[production * fieldsEach + index] ?? 0;
        if (fieldId === 0) fieldId = hiddenField;
        index++;
      }
      if (alias !== 0 || (flags & (isInline ? INLINE.visible : HEAP.visible)) !== 0) {
        const own = (isInline ? bytes[at + INLINE.symbol] : shorts[(heap + HEAP.symbol) >> 1]) ?? 0;
        const symbol = alias !== 0 ? alias : own;
        const isNamed =
          alias !== 0 ? namedSymbols[alias] === 1 : (flags & (isInline ? INLINE.named : HEAP.named)) !== 0;
        push(
          list,
          publicSymbols[symbol] ?? symbol,
          isNamed,
          fieldId,
          offset >> 1,
          (offset + size) >> 1,
          heap,
        );
      } else if (heap !== 0 && depth < MAX_HIDDEN) collectBelow(heap, fieldId, offset, depth + 1, list);
      offset += size;
    }
  };

  const collectBelow = (
    heap: number,
    hiddenField: number,
    position: number,
    depth: number,
    list: NodeList,
  ): void => {
    const count = numberAt(heap + HEAP.childCount);
    if (count === 0) return;
    const production = shorts[(heap + HEAP.productionId) >> 1] ?? 0;
    collect(heap - count * SUBTREE_BYTES, count, production, hiddenField, position, depth, list);
  };

  const root = addressOf(tree);
  const isInlineRoot = ((bytes[root] ?? 0) & INLINE.is) !== 0;
  const rootHeap = isInlineRoot ? 0 : numberAt(root);
  return {
    hasErrors: !isInlineRoot && numberAt(rootHeap + HEAP.errorCost) > 0,
    pushRoot: (list: NodeList): void => {
      const padding = isInlineRoot ? (bytes[root + INLINE.padding] ?? 0) : numberAt(rootHeap + HEAP.padding);
      collect(root, 1, 0, 0, padding, 0, list);
    },
    /** The visible children of the node at an address; none for 0, which is the address of leaves. */
    pushChildren: (address: number, start: number, list: NodeList): void => {
      if (address !== 0) collectBelow(address, 0, start * 2, 0, list);
    },
  };
};

export type TreeReader = ReturnType<typeof createTreeReader>;
