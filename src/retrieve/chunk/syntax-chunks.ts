import type { FileSymbols } from "../../symbols/extract/file-symbols.ts";
import type { Grammar } from "../../syntax/language-table.ts";
import type { SyntaxTree } from "../../syntax/syntax-tree.ts";
import { ERROR_TYPE } from "../../syntax/tree-layout.ts";
import { type Atom, CUT, rowAtoms } from "./atoms.ts";
import type { ChunkKind } from "./chunk.ts";
import { toLines } from "./lines.ts";
import { createNamer } from "./outline.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { symbolOutline } from "./symbol-outline.ts";
import { syntaxAtoms } from "./syntax-atoms.ts";
import { outlineRules, syntaxOutline } from "./syntax-outline.ts";
import { type Cut, toChunks } from "./to-chunks.ts";

export interface SyntaxCut extends Cut {
  /** The tree was not usable, so the text was cut by rows. */
  readonly broken: boolean;
}

/** Above this share of characters in syntax errors, rows are a better guide than the tree. */
const MAX_ERROR_SHARE = 0.5;

/** Examines the top of the tree only: an error deep inside affects one definition, not the file. */
const isMostlyErrors = ({ root, hasErrors, text, childrenOf }: SyntaxTree): boolean => {
  if (!hasErrors) return false;
  const children = childrenOf(root);
  if (children.length === 0) return true;
  // Where the root itself is an error, its tokens are errors too.
  const isBroken = root.typeId === ERROR_TYPE;
  const broken = children
    .filter(({ typeId, isNamed }) => typeId === ERROR_TYPE || (isBroken && !isNamed))
    .reduce((sum, { start, end }) => sum + end - start, 0);
  return broken > text.length * MAX_ERROR_SHARE;
};

/** Chunks at the boundaries of the syntax tree, named by the definitions in them. */
export const cutSyntax = (
  tree: SyntaxTree,
  grammar: Grammar,
  text: string,
  kind: ChunkKind,
  symbols: FileSymbols,
  sizes: Sizes = SIZES,
): SyntaxCut => {
  const lines = toLines(text);
  const rules = outlineRules(grammar, tree.language);
  const outline = rules.rules.size > 0 ? syntaxOutline(tree, rules) : symbolOutline(symbols);
  const broken = isMostlyErrors(tree);
  let atoms: Atom[];
  if (broken) {
    const starts = new Set(outline.map((entry) => entry.startRow));
    atoms = rowAtoms(lines, 0, lines.count - 1).map((atom) =>
      starts.has(atom.from) ? { ...atom, cut: CUT.statement } : atom,
    );
  } else atoms = syntaxAtoms(tree, lines, rules, outline, sizes);
  return {
    ...toChunks({ lines, atoms, nameOf: createNamer(outline), kind, sizes, defining: kind === "code" }),
    broken,
  };
};
