import type { Tree } from "web-tree-sitter";

/** Share of a file's characters that its parser could make nothing of. Above it rows are a better guide than the tree. */
const MAX_ERROR_SHARE = 0.5;

/** Looks at the top of the tree only: errors deep inside cost one definition, not the file. */
export const mostlyErrors = (tree: Tree, chars: number): boolean => {
  const root = tree.rootNode;
  if (!root.hasError) return false;
  const cursor = tree.walk();
  let broken = 0;
  try {
    if (!cursor.gotoFirstChild()) return true;
    // Under a root that is itself an error, loose tokens are errors too.
    do
      if (cursor.nodeType === "ERROR" || (root.isError && !cursor.nodeIsNamed))
        broken += cursor.endIndex - cursor.startIndex;
    while (cursor.gotoNextSibling());
  } finally {
    cursor.delete();
  }
  return broken > chars * MAX_ERROR_SHARE;
};
