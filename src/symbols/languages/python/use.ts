import type { ReferenceKind } from "../../extract/file-symbols.ts";
import type { Walker } from "../../extract/walker.ts";

/** The children of a node without comments, which may be anywhere. */
export const parts = (walker: Walker, node: number): readonly number[] =>
  walker.children(node).filter((child) => walker.type(child) !== "comment");

/** -1 where there is none. */
export const firstPart = (walker: Walker, node: number): number => {
  let child = walker.tree.firstChild[node] ?? -1;
  while (child >= 0 && walker.type(child) === "comment") child = walker.tree.nextSibling[child] ?? -1;
  return child;
};

/** The class around the current definition; -1 outside of classes. */
export const ownerOf = (walker: Walker): number => {
  let at = walker.scopes.definition;
  while (at >= 0 && walker.kindOf(at) !== "class") at = walker.parentOf(at);
  return at;
};

/** A name or an attribute, with what is before its last dot. */
export const use = (walker: Walker, node: number, kind: ReferenceKind): void => {
  switch (walker.type(node)) {
    case "identifier":
      walker.refer(walker.text(node), node, kind);
      return;
    case "attribute": {
      const object = walker.field(node, "object");
      const attribute = walker.field(node, "attribute");
      walker.visit(object);
      walker.refer(walker.text(attribute), attribute, kind, walker.expression(object));
      return;
    }
    case "subscript":
      use(walker, walker.field(node, "value"), kind);
      for (const child of walker.children(node))
        if (walker.tree.fieldName(child) === "subscript") walker.visit(child);
      return;
    default:
      walker.visit(node);
  }
};
