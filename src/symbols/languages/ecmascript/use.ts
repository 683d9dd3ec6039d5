import type { ReferenceKind } from "../../extract/file-symbols.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { firstOf, visitOthers } from "../../rules/handlers.ts";

/** A use of what an expression names; parts that name nothing are only walked through. */
export const use = (walker: Walker, node: number, kind: ReferenceKind): void => {
  switch (walker.type(node)) {
    case "identifier":
    case "shorthand_property_identifier":
      walker.refer(walker.text(node), node, kind);
      return;
    case "member_expression": {
      const object = walker.field(node, "object");
      const property = walker.field(node, "property");
      walker.visit(object);
      walker.refer(walker.text(property), property, kind, walker.expression(object));
      return;
    }
    case "parenthesized_expression":
    case "non_null_expression":
      use(walker, firstOf(walker, node), kind);
      return;
    default:
      walker.visit(node);
  }
};

export const uses =
  (kind: ReferenceKind): Handler =>
  (walker, node) =>
    use(walker, node, kind);

export const call =
  (field: string): Handler =>
  (walker, node) => {
    use(walker, walker.field(node, field), "call");
    walker.visitField(node, "type_arguments");
    walker.visitField(node, "arguments");
  };

export const heritage: Handler = (walker, node) => {
  for (const child of walker.children(node)) {
    const type = walker.type(child);
    if (type === "identifier" || type === "member_expression") use(walker, child, "inherit");
    else if (type === "type_identifier" || type === "generic_type" || type === "nested_type_identifier")
      inherit(walker, child);
    else walker.visit(child);
  }
};

const inherit = (walker: Walker, node: number): void => {
  if (walker.type(node) === "generic_type") {
    inherit(walker, walker.field(node, "name"));
    walker.visit(walker.child(node, "type_arguments"));
  } else if (walker.type(node) === "nested_type_identifier") nestedType(walker, node, "inherit");
  else walker.refer(walker.text(node), node, "inherit");
};

export const nestedType = (walker: Walker, node: number, kind: ReferenceKind): void => {
  const module = walker.field(node, "module");
  const name = walker.field(node, "name");
  use(walker, module, "read");
  walker.refer(walker.text(name), name, kind, walker.text(module).replace(/\s+/g, ""));
};

export const jsxName: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  // Lower-case names are HTML elements.
  if (walker.type(name) !== "identifier" || /^[A-Z_$]/.test(walker.text(name))) use(walker, name, "call");
  visitOthers(walker, node, name);
};

export const decorator: Handler = (walker, node) => {
  const inner = firstOf(walker, node);
  if (walker.type(inner) !== "call_expression") {
    use(walker, inner, "decorate");
    return;
  }
  use(walker, walker.field(inner, "function"), "decorate");
  walker.visitField(inner, "arguments");
};
