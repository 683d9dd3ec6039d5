import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { use } from "../../rules/uses.ts";
import { writtenType } from "../../rules/written-type.ts";
import { nodeTypes } from "./node-types.ts";

const bindPattern = (walker: Walker, node: number, type: Expression): void => {
  switch (walker.type(node)) {
    case "identifier":
      // `None`, `MAX`: existing constants, not new bindings.
      if (/^[a-z_]/.test(walker.text(node))) walker.scopes.bindLocal(walker.text(node), type);
      else walker.visit(node);
      return;
    case "tuple_struct_pattern":
    case "struct_pattern": {
      const name = walker.field(node, "type");
      use(nodeTypes, walker, name, "read");
      const wraps = /^(?:Some|Ok|Err)$/.test(walker.text(name));
      for (const child of walker.children(node))
        if (child !== name) bindPattern(walker, child, wraps ? type : UNKNOWN);
      return;
    }
    case "field_pattern":
      for (const child of walker.children(node)) {
        if (walker.type(child) === "shorthand_field_identifier")
          walker.scopes.bindLocal(walker.text(child), "");
        else if (walker.tree.fieldName(child) === "pattern") bindPattern(walker, child, UNKNOWN);
      }
      return;
    case "scoped_identifier":
      walker.visit(node);
      return;
    default:
      for (const child of walker.children(node))
        bindPattern(
          walker,
          child,
          /^(?:ref|mut|reference|captured)/.test(walker.type(node)) ? type : UNKNOWN,
        );
  }
};

export const letDeclaration: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const value = walker.field(node, "value");
  walker.visit(value);
  walker.visit(type);
  walker.visitField(node, "alternative");
  let known = type >= 0 ? writtenType(walker.text(type)) : UNKNOWN;
  if (known === UNKNOWN && value >= 0) known = walker.expression(value);
  bindPattern(walker, walker.field(node, "pattern"), known);
};

export const parameterOf: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  bindPattern(walker, walker.field(node, "pattern"), type < 0 ? UNKNOWN : writtenType(walker.text(type)));
  walker.visit(type);
};

export const closureParameters: Handler = (walker, node) => {
  for (const child of walker.children(node)) {
    if (walker.type(child) === "parameter") parameterOf(walker, child);
    else bindPattern(walker, child, UNKNOWN);
  }
};

export const forExpression: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const value = walker.field(node, "value");
  walker.visit(value);
  bindPattern(walker, walker.field(node, "pattern"), step(walker.expression(value), "[]"));
  walker.visitField(node, "body");
  walker.scopes.leave();
};

export const matchArm: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const pattern = walker.field(node, "pattern");
  for (const child of walker.children(pattern)) bindPattern(walker, child, UNKNOWN);
  walker.visitField(node, "value");
  walker.scopes.leave();
};
