import type { Handler } from "../../extract/walker.ts";
import { functionBody, isFunction } from "./functions.ts";
import { exportClauses } from "./imports.ts";

export const exportStatement: Handler = (walker, node) => {
  const isDefault = /^export\s+default\b/.test(walker.text(node).slice(0, 40));
  const declaration = walker.field(node, "declaration");
  const value = walker.field(node, "value");
  for (const child of walker.children(node)) if (walker.type(child) === "decorator") walker.visit(child);
  if (isDefault) {
    const name = walker.text(walker.field(declaration >= 0 ? declaration : value, "name"));
    const identifier = walker.type(value) === "identifier" ? walker.text(value) : name;
    if (identifier !== "")
      walker.import({ source: "", name: identifier, local: "default", exported: true }, node);
    else if (value >= 0) {
      const definition = walker.define(
        "default",
        isFunction(walker, value) ? "function" : "constant",
        node,
        node,
        {
          exported: true,
          scope: -1,
          type: walker.expression(value),
        },
      );
      walker.scopes.enter("block", definition);
      if (isFunction(walker, value)) functionBody(walker, value, definition);
      else walker.visit(value);
      walker.scopes.leave();
      return;
    }
    walker.visit(declaration >= 0 ? declaration : value);
    return;
  }
  exportClauses(walker, node);
  walker.visit(declaration);
};
