import type { Language, Tree } from "web-tree-sitter";
import { ERROR_TYPE, HEAP, INLINE, productionsOf, SUBTREE_BYTES } from "./tree-layout.ts";
import { addressOf, treeMemory } from "./tree-sitter-core.ts";

/** A node that is shown, with its place. Offsets are in UTF-16 units, rows counted from 0. */
export interface SyntaxNode {
  readonly typeId: number;
  readonly isNamed: boolean;
  readonly fieldId: number;
  readonly start: number;
  readonly end: number;
  readonly startRow: number;
  readonly endRow: number;
  readonly endColumn: number;
  /** For the tree alone: where the node lies in memory, 0 for a leaf, and its column in bytes. */
  readonly address: number;
  readonly startColumn: number;
}

/** A tree read out of tree-sitter's memory, where it is asked. Valid until the tree is deleted or another text parsed. */
export interface SyntaxTree {
  readonly language: Language;
  readonly text: string;
  readonly root: SyntaxNode;
  readonly hasErrors: boolean;
  typeOf(node: SyntaxNode): string;
  /** All that are shown, also those without a name, such as brackets. */
  childrenOf(node: SyntaxNode): readonly SyntaxNode[];
  namedChildrenOf(node: SyntaxNode): readonly SyntaxNode[];
  /** The first of that field. */
  childOf(node: SyntaxNode, field: string): SyntaxNode | undefined;
  textOf(node: SyntaxNode): string;
}

/** Hidden nodes nest as deep as a list is long only in trees that are broken on purpose. */
const MAX_HIDDEN = 500;

export const readSyntaxTree = (tree: Tree, text: string): SyntaxTree => {
  const { language } = tree;
  const productions = productionsOf(tree);
  const { publicSymbols, namedSymbols, aliases, aliasesEach, fields, fieldsEach } = productions;
  const bytes = new Uint8Array(treeMemory());
  const shorts = new Uint16Array(treeMemory());
  const numbers = new Uint32Array(treeMemory());
  const numberAt = (address: number): number => numbers[address >> 2] ?? 0;

  /** Children of the node at `address`, which begins at that place; those of hidden ones stand in their stead. */
  const collect = (
    first: number,
    count: number,
    production: number,
    hiddenField: number,
    place: { readonly offset: number; readonly row: number; readonly column: number },
    depth: number,
    found: SyntaxNode[],
  ): void => {
    let { offset, row, column } = place;
    let index = 0;
    for (let child = 0; child < count; child++) {
      const at = first + child * SUBTREE_BYTES;
      const head = bytes[at] ?? 0;
      const isInline = (head & INLINE.is) !== 0;
      const heap = isInline ? 0 : numberAt(at);
      const flags = isInline ? head : (bytes[heap + HEAP.flags] ?? 0);
      if (child > 0) {
        const rows = isInline
          ? (bytes[at + INLINE.paddingRows] ?? 0) & INLINE.rowsMask
          : numberAt(heap + HEAP.paddingRows);
        const columns = isInline
          ? (bytes[at + INLINE.paddingColumns] ?? 0)
          : numberAt(heap + HEAP.paddingColumns);
        offset += isInline ? (bytes[at + INLINE.padding] ?? 0) : numberAt(heap + HEAP.padding);
        column = rows > 0 ? columns : column + columns;
        row += rows;
      }
      const size = isInline ? (bytes[at + INLINE.size] ?? 0) : numberAt(heap + HEAP.size);
      const rows = isInline ? 0 : numberAt(heap + HEAP.sizeRows);
      const columns = isInline ? size : numberAt(heap + HEAP.sizeColumns);
      const endColumn = rows > 0 ? columns : column + columns;
      const isExtra = (flags & (isInline ? INLINE.extra : HEAP.extra)) !== 0;
      let alias = 0;
      let fieldId = 0;
      if (!isExtra) {
        if (index < aliasesEach) alias = aliases[production * aliasesEach + index] ?? 0;
        if (index < fieldsEach) fieldId = fields[production * fieldsEach + index] ?? 0;
        if (fieldId === 0) fieldId = hiddenField;
        index++;
      }
      if (alias !== 0 || (flags & (isInline ? INLINE.visible : HEAP.visible)) !== 0) {
        const own = isInline ? bytes[at + INLINE.symbol] : shorts[(heap + HEAP.symbol) >> 1];
        const symbol = alias !== 0 ? alias : (own ?? 0);
        const isNamed = (flags & (isInline ? INLINE.named : HEAP.named)) !== 0;
        found.push({
          typeId: publicSymbols[symbol] ?? symbol,
          isNamed: alias === 0 ? isNamed : namedSymbols[alias] === 1,
          fieldId,
          start: offset >> 1,
          end: (offset + size) >> 1,
          startRow: row,
          endRow: row + rows,
          endColumn,
          address: heap,
          startColumn: column,
        });
      } else if (heap !== 0 && depth < MAX_HIDDEN)
        collectBelow(heap, fieldId, { offset, row, column }, depth + 1, found);
      offset += size;
      row += rows;
      column = endColumn;
    }
  };

  const collectBelow = (
    heap: number,
    hiddenField: number,
    place: { readonly offset: number; readonly row: number; readonly column: number },
    depth: number,
    found: SyntaxNode[],
  ): void => {
    const count = numberAt(heap + HEAP.childCount);
    if (count === 0) return;
    const production = shorts[(heap + HEAP.productionId) >> 1] ?? 0;
    collect(heap - count * SUBTREE_BYTES, count, production, hiddenField, place, depth, found);
  };

  const readRoot = (): SyntaxNode => {
    const at = addressOf(tree);
    const isInline = ((bytes[at] ?? 0) & INLINE.is) !== 0;
    const heap = isInline ? 0 : numberAt(at);
    const found: SyntaxNode[] = [];
    const place = isInline
      ? {
          offset: bytes[at + INLINE.padding] ?? 0,
          row: (bytes[at + INLINE.paddingRows] ?? 0) & INLINE.rowsMask,
          column: bytes[at + INLINE.paddingColumns] ?? 0,
        }
      : {
          offset: numberAt(heap + HEAP.padding),
          row: numberAt(heap + HEAP.paddingRows),
          column: numberAt(heap + HEAP.paddingColumns),
        };
    collect(at, 1, 0, 0, place, 0, found);
    const [root] = found;
    if (root === undefined) throw new Error("a tree without a root");
    return root;
  };

  const root = readRoot();

  const childrenOf = ({ address, start, startRow, startColumn }: SyntaxNode): readonly SyntaxNode[] => {
    const found: SyntaxNode[] = [];
    if (address !== 0)
      collectBelow(address, 0, { offset: start * 2, row: startRow, column: startColumn }, 0, found);
    return found;
  };

  return {
    language,
    text,
    root,
    hasErrors: root.address !== 0 && numberAt(root.address + HEAP.errorCost) > 0,
    typeOf: ({ typeId }) => (typeId === ERROR_TYPE ? "ERROR" : (language.types[typeId] ?? "")),
    childrenOf,
    namedChildrenOf: (node) => childrenOf(node).filter(({ isNamed }) => isNamed),
    childOf: (node, field) => {
      const id = language.fieldIdForName(field);
      return id === null ? undefined : childrenOf(node).find(({ fieldId }) => fieldId === id);
    },
    textOf: ({ start, end }) => text.slice(start, end),
  };
};
