import type { Tree } from "web-tree-sitter";
import { readFlatTree } from "../syntax/flat-tree.ts";
import type { Language } from "../syntax/languages.ts";
import type { FileSymbols } from "./extract/file-symbols.ts";
import { NO_SYMBOLS } from "./extract/file-symbols.ts";
import { walk } from "./extract/walker.ts";
import { rulesOf } from "./languages/all.ts";

/** The symbols of a file. A tree with errors gives what can be read of it. The caller deletes the tree. */
export const extractSymbols = (tree: Tree, language: Language, text: string): FileSymbols => {
  const rules = rulesOf(language.id);
  return rules === undefined ? NO_SYMBOLS : walk(readFlatTree(tree, text), rules);
};
