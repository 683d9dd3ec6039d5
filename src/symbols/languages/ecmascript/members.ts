import type { SymbolKind } from "../../extract/file-symbols.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { functionBody, isFunction, parameterTypes } from "./functions.ts";
import { writtenType } from "./jsdoc.ts";
import { typeOf } from "./types.ts";

/** As it can be written after a dot; empty for a computed name. */
export const memberName = (walker: Walker, node: number): string => {
  const text = walker.text(node);
  if (walker.type(node) === "string") return text.slice(1, -1);
  return walker.type(node) === "computed_property_name" ? "" : text;
};

const visible = (name: string): boolean => !name.startsWith("#");

const defineMember = (walker: Walker, node: number, kind: SymbolKind, nameNode: number): number => {
  const name = memberName(walker, nameNode);
  return walker.define(name, kind, nameNode, node, { exported: visible(name), scope: -1 });
};

/** A method with or without body, in a class, an interface or an object. */
export const method: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const written = walker
    .text(node)
    .slice(0, Math.max(0, (walker.tree.start[name] ?? 0) - (walker.tree.start[node] ?? 0)));
  // Read like a field, so its value is the result.
  const isGetter = /\bget\s*$/.test(written);
  const definition = defineMember(walker, node, isGetter ? "field" : "method", name);
  for (const child of walker.children(node)) if (walker.type(child) === "decorator") walker.visit(child);
  if (walker.type(name) === "computed_property_name") walker.visit(name);
  functionBody(walker, node, definition);
};

export const fieldOf =
  (nameField: string): Handler =>
  (walker, node) => {
    const name = walker.field(node, nameField);
    const value = walker.field(node, "value");
    const annotation = walker.field(node, "type");
    const holdsFunction = isFunction(walker, value);
    const isCallable =
      holdsFunction || walker.type(walker.tree.firstChild[annotation] ?? -1) === "function_type";
    const definition = defineMember(walker, node, isCallable ? "method" : "field", name);
    walker.setType(definition, writtenType(walker, node));
    for (const child of walker.children(node)) if (walker.type(child) === "decorator") walker.visit(child);
    if (annotation >= 0) {
      const inner = walker.tree.firstChild[annotation] ?? -1;
      const result = walker.type(inner) === "function_type" ? walker.field(inner, "return_type") : annotation;
      walker.setType(definition, typeOf(walker, result));
      if (walker.type(inner) === "function_type")
        walker.setParameters(definition, parameterTypes(walker, inner));
      walker.visit(annotation);
    }
    if (holdsFunction) functionBody(walker, value, definition);
    else if (value >= 0) {
      walker.scopes.enter("block", definition >= 0 ? definition : undefined);
      walker.setType(definition, walker.expression(value));
      walker.visit(value);
      walker.scopes.leave();
    }
  };

export const enumBody: Handler = (walker, node) => {
  for (const member of walker.children(node)) {
    const isAssignment = walker.type(member) === "enum_assignment";
    const name = isAssignment ? walker.field(member, "name") : member;
    if (walker.type(name) === "property_identifier" || walker.type(name) === "string")
      defineMember(walker, member, "constant", name);
    if (isAssignment) walker.visitField(member, "value");
  }
};
