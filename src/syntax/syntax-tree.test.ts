import { describe, expect, test } from "vitest";
import type { Tree, TreeCursor } from "web-tree-sitter";
import { GRAMMARS, inTree, ODD_TEXT } from "../../test/parsed-trees.ts";
import { SAMPLES } from "../../test/syntax-samples.ts";
import type { Grammar } from "./language-table.ts";
import { languageOf } from "./languages.ts";
import { readSyntaxTree, type SyntaxNode, type SyntaxTree } from "./syntax-tree.ts";

/** A node with what is inside it, down to brackets. */
type Shown = readonly [string, readonly Shown[]];

const byCursor = (cursor: TreeCursor, isRoot: boolean): Shown => {
  const { nodeType, nodeIsNamed, startIndex, endIndex, startPosition, endPosition } = cursor;
  const own = [nodeType, nodeIsNamed, isRoot ? 0 : cursor.currentFieldId, startIndex, endIndex];
  const positions = [startPosition.row, endPosition.row, endPosition.column];
  const children: Shown[] = [];
  if (cursor.gotoFirstChild()) {
    do children.push(byCursor(cursor, false));
    while (cursor.gotoNextSibling());
    cursor.gotoParent();
  }
  return [[...own, ...positions].join(" "), children];
};

const byMemory = (tree: SyntaxTree, node: SyntaxNode): Shown => {
  const { isNamed, fieldId, start, end, startRow, endRow, endColumn } = node;
  const own = [tree.typeOf(node), isNamed, fieldId, start, end, startRow, endRow, endColumn];
  return [own.join(" "), tree.childrenOf(node).map((child) => byMemory(tree, child))];
};

const compare = (tree: Tree, text: string): number => {
  const cursor = tree.walk();
  const read = readSyntaxTree(tree, text);
  expect(byMemory(read, read.root)).toEqual(byCursor(cursor, true));
  expect(read.hasErrors).toBe(tree.rootNode.hasError);
  cursor.delete();
  return read.childrenOf(read.root).length;
};

const check = (grammar: Grammar, text: string): Promise<number> =>
  inTree(grammar, text, (tree) => compare(tree, text));

describe("a tree read where it lies is the one that the cursor walks", () => {
  test.each(SAMPLES)("$language, and after letters of more than one byte", async ({ path, source }) => {
    const { grammar } = languageOf(path, source);
    if (grammar === undefined) throw new Error("no grammar");
    expect(await check(grammar, source)).toBeGreaterThan(0);
    expect(await check(grammar, `\n\n  \u00fc\u{1d11e} ${source}\n `)).toBeGreaterThan(0);
  });

  test.each(GRAMMARS)("%s, in a text of other languages, and in none", async (grammar) => {
    await check(grammar, ODD_TEXT);
    expect(await check(grammar, "")).toBe(0);
  });

  test("children are found by their field", async () => {
    const source = "def f(x):\n    return x\n";
    await inTree("python", source, (tree) => {
      const read = readSyntaxTree(tree, source);
      const [definition] = read.namedChildrenOf(read.root);
      if (definition === undefined) throw new Error("no definition");
      const name = read.childOf(definition, "name");
      expect(name && read.textOf(name)).toBe("f");
      expect(read.childOf(definition, "return_type")).toBeUndefined();
      expect(read.childOf(definition, "no such field")).toBeUndefined();
    });
  });
});
