import type { Tree } from "web-tree-sitter";
import { createLineFinder } from "./line-finder.ts";
import { ERROR_TYPE } from "./tree-layout.ts";
import { createNodeList, createTreeReader, NODE } from "./tree-reader.ts";

/** A visible node. Offsets are in UTF-16 units, rows and columns counted from 0. */
export interface SyntaxNode {
  readonly typeId: number;
  readonly isNamed: boolean;
  readonly fieldId: number;
  readonly start: number;
  readonly end: number;
  readonly startRow: number;
  readonly endRow: number;
  readonly endColumn: number;
  /** For the tree alone: where the node is in memory, 0 for a leaf. */
  readonly address: number;
}

/** A tree whose nodes are read when they are asked for. Valid until the tree is deleted or another text is parsed. */
export const readSyntaxTree = (tree: Tree, text: string) => {
  const { language } = tree;
  const reader = createTreeReader(tree);
  const lines = createLineFinder(text);
  const list = createNodeList();

  const takeNodes = (): readonly SyntaxNode[] => {
    const { numbers, length } = list;
    const nodes: SyntaxNode[] = [];
    for (let at = 0; at < length; at += NODE.length) {
      const start = numbers[at + NODE.start] ?? 0;
      const end = numbers[at + NODE.end] ?? 0;
      const startRow = lines.rowAt(start);
      const endRow = lines.rowAt(end);
      nodes.push({
        typeId: numbers[at + NODE.typeId] ?? 0,
        isNamed: numbers[at + NODE.isNamed] === 1,
        fieldId: numbers[at + NODE.fieldId] ?? 0,
        start,
        end,
        startRow,
        endRow,
        endColumn: end - (lines.starts[endRow] ?? 0),
        address: numbers[at + NODE.address] ?? 0,
      });
    }
    list.length = 0;
    return nodes;
  };

  reader.pushRoot(list);
  const [root] = takeNodes();
  if (root === undefined) throw new Error("a tree without a root");
  const childrenOf = ({ address, start }: SyntaxNode): readonly SyntaxNode[] => {
    reader.pushChildren(address, start, list);
    return takeNodes();
  };

  return {
    language,
    text,
    root,
    hasErrors: reader.hasErrors,
    typeOf: ({ typeId }: SyntaxNode): string =>
      typeId === ERROR_TYPE ? "ERROR" : (language.types[typeId] ?? ""),
    /** All visible children, also those without a name, such as brackets. */
    childrenOf,
    namedChildrenOf: (node: SyntaxNode): readonly SyntaxNode[] =>
      childrenOf(node).filter(({ isNamed }) => isNamed),
    /** The first child with that field name. */
    childOf: (node: SyntaxNode, field: string): SyntaxNode | undefined => {
      const id = language.fieldIdForName(field);
      return id === null ? undefined : childrenOf(node).find(({ fieldId }) => fieldId === id);
    },
    textOf: ({ start, end }: SyntaxNode): string => text.slice(start, end),
  };
};

export type SyntaxTree = ReturnType<typeof readSyntaxTree>;
