import type { Tree } from "web-tree-sitter";
import type { FileSymbols } from "../retrieve/contract.ts";
import type { Language } from "../syntax/languages.ts";
import { toFlatTree } from "./flat-tree.ts";
import { rulesOf } from "./languages/rules-of.ts";
import { NO_SYMBOLS } from "./no-symbols.ts";
import { readColumns } from "./tree-columns.ts";
import { walk } from "./walker.ts";

export { NO_SYMBOLS } from "./no-symbols.ts";

/** What a file says about symbols. A tree full of errors gives what can be read of it; the tree stays the caller's. */
export const extractSymbols = (tree: Tree, language: Language, text: string): FileSymbols => {
  const rules = rulesOf(language.id);
  return rules === undefined ? NO_SYMBOLS : walk(toFlatTree(readColumns(tree, text.length), text), rules);
};
