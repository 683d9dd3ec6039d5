import type { Walker } from "../../extract/walker.ts";

/** What a class or an interface holds and inherits, in a scope of its own. */
export const classBody = (walker: Walker, node: number, definition: number): void => {
  for (const child of walker.children(node)) if (walker.type(child) === "decorator") walker.visit(child);
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  walker.visitField(node, "type_parameters");
  const heritage = walker.child(node, "class_heritage", "extends_type_clause");
  if (heritage >= 0) walker.visit(heritage);
  walker.visitField(node, "body");
  walker.scopes.leave();
};
