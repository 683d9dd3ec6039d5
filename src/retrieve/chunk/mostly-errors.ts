import type { SyntaxTree } from "../../syntax/syntax-tree.ts";
import { ERROR_TYPE } from "../../syntax/tree-layout.ts";

/** Share of a file's characters that its parser could make nothing of. Above it rows are a better guide than the tree. */
const MAX_ERROR_SHARE = 0.5;

/** Looks at the top of the tree only: errors deep inside cost one definition, not the file. */
export const mostlyErrors = ({ root, hasErrors, text, childrenOf }: SyntaxTree): boolean => {
  if (!hasErrors) return false;
  const children = childrenOf(root);
  if (children.length === 0) return true;
  // Under a root that is itself an error, loose tokens are errors too.
  const isBroken = root.typeId === ERROR_TYPE;
  const broken = children
    .filter(({ typeId, isNamed }) => typeId === ERROR_TYPE || (isBroken && !isNamed))
    .reduce((sum, { start, end }) => sum + end - start, 0);
  return broken > text.length * MAX_ERROR_SHARE;
};
