import { describe, expect, test } from "vitest";
import type { Tree, TreeCursor } from "web-tree-sitter";
import { GRAMMARS, inTree, ODD_TEXT } from "../../test/parsed-trees.ts";
import { SAMPLES } from "../../test/syntax-samples.ts";
import { type FlatTree, readFlatTree } from "./flat-tree.ts";
import type { Grammar } from "./language-table.ts";
import { languageOf } from "./languages.ts";

/** A node with what is inside it: `type field start end` and its named children. */
type Shown = readonly [string, readonly Shown[]];

const byCursor = (cursor: TreeCursor, isRoot: boolean): Shown => {
  const field = isRoot ? "" : (cursor.currentFieldName ?? "");
  const own = `${cursor.nodeType} ${field} ${cursor.startIndex} ${cursor.endIndex}`;
  const children: Shown[] = [];
  if (cursor.gotoFirstChild()) {
    do if (cursor.nodeIsNamed) children.push(byCursor(cursor, false));
    while (cursor.gotoNextSibling());
    cursor.gotoParent();
  }
  return [own, children];
};

const byMemory = (flat: FlatTree, node: number): Shown => {
  const children: Shown[] = [];
  for (let child = flat.firstChild[node] ?? -1; child >= 0; child = flat.nextSibling[child] ?? -1) {
    expect(flat.parent[child]).toBe(node);
    children.push(byMemory(flat, child));
  }
  return [`${flat.type(node)} ${flat.fieldName(node)} ${flat.start[node]} ${flat.end[node]}`, children];
};

/** What the flat tree takes as a whole has no children there. */
const cutLike = ([own, children]: Shown, [, wanted]: Shown): Shown =>
  wanted.length === 0 ? [own, []] : [own, children.map((child, i) => cutLike(child, wanted[i] ?? ["", []]))];

const compare = (tree: Tree, text: string): number => {
  const cursor = tree.walk();
  const flat = readFlatTree(tree, text);
  const found = byMemory(flat, 0);
  expect(found).toEqual(cutLike(byCursor(cursor, true), found));
  cursor.delete();
  return flat.count;
};

const check = (grammar: Grammar, text: string): Promise<number> =>
  inTree(grammar, text, (tree) => compare(tree, text));

describe("a tree read out of memory is the one that the cursor walks", () => {
  test.each(SAMPLES)("$language, and after letters of more than one byte", async ({ path, source }) => {
    const { grammar } = languageOf(path, source);
    if (grammar === undefined) throw new Error("no grammar");
    expect(await check(grammar, source)).toBeGreaterThan(3);
    expect(await check(grammar, `\n\n  ü𝄞 ${source}\n `)).toBeGreaterThan(3);
  });

  test.each(GRAMMARS)("%s, in a text of other languages", async (grammar) => {
    expect(await check(grammar, ODD_TEXT)).toBeGreaterThan(0);
    expect(await check(grammar, "")).toBeGreaterThan(0);
  });

  test("a text that is handed over in many pieces", async () => {
    const source = (SAMPLES.find(({ language }) => language === "scala")?.source ?? "").repeat(200);
    expect(source.length).toBeGreaterThan(50_000);
    expect(await check("scala", source)).toBeGreaterThan(5_000);
  });
});
