import type { Tree } from "web-tree-sitter";
import { type Grammar, LANGUAGE_TABLE } from "../src/syntax/language-table.ts";
import { createParsers } from "../src/syntax/parsers.ts";
import { SAMPLES } from "./syntax-samples.ts";

export const GRAMMARS = [...new Set(LANGUAGE_TABLE.flatMap(({ grammar }) => grammar ?? []))];

/** Letters of one to four bytes, and lines of several languages: no grammar reads all of it. */
export const ODD_TEXT = `\u00e9 = "\u{1d11e}" // \u00fcn\u00ef\n${SAMPLES.slice(0, 6)
  .map(({ source }) => source)
  .join("\n")}`;

let parsers: ReturnType<typeof createParsers> | undefined;

export const inTree = async <T>(grammar: Grammar, text: string, use: (tree: Tree) => T): Promise<T> => {
  parsers ??= createParsers();
  const { tree, reason } = await (await parsers).parse(grammar, text);
  if (tree === undefined) throw new Error(reason);
  try {
    return use(tree);
  } finally {
    tree.delete();
  }
};
