import type { Tree } from "web-tree-sitter";
import { readFlatTree } from "../syntax/flat-tree.ts";
import type { Language } from "../syntax/languages.ts";
import type { FileSymbols } from "./extract/file-symbols.ts";
import { NO_SYMBOLS } from "./extract/file-symbols.ts";
import { walk } from "./extract/walker.ts";
import { rulesOf } from "./languages/all.ts";

/** What a file says about symbols. A tree full of errors gives what can be read of it; the tree stays the caller's. */
export const extractSymbols = (tree: Tree, language: Language, text: string): FileSymbols => {
  const rules = rulesOf(language.id);
  return rules === undefined ? NO_SYMBOLS : walk(readFlatTree(tree, text), rules);
};
