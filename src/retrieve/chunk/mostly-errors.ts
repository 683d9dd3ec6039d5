import type { SyntaxTree } from "../../syntax/syntax-tree.ts";
import { ERROR_TYPE } from "../../syntax/tree-layout.ts";

/** Above this share of characters in syntax errors, rows are a better guide than the tree. */
const MAX_ERROR_SHARE = 0.5;

/** Examines the top of the tree only: an error deep inside affects one definition, not the file. */
export const mostlyErrors = ({ root, hasErrors, text, childrenOf }: SyntaxTree): boolean => {
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
