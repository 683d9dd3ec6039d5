import { type Expression, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";
import { argumentsOf } from "../../rules/handlers.ts";
import { expressionOf, type NodeTypes } from "../../rules/uses.ts";

export const nodeTypes: NodeTypes = {
  names: new Set(["identifier"]),
  members: {
    dot_index_expression: { object: "table", name: "field" },
    method_index_expression: { object: "table", name: "method" },
  },
  wrappers: new Set(["parenthesized_expression", "expression_list"]),
  calls: { function_call: { function: "name" } },
  creations: {},
  literals: new Set(["string", "number", "true", "false", "nil", "binary_expression", "unary_expression"]),
  self: new Set(),
  parent: new Set(),
  casts: {},
  elements: { bracket_index_expression: "table" },
};

const plainExpression = expressionOf(nodeTypes);

export const calledName = (walker: Walker, node: number): string =>
  walker.type(node) === "function_call" ? walker.text(walker.field(node, "name")) : "";

/** The module that a call of `require` names; empty for other nodes and for computed names. */
export const requiredSource = (walker: Walker, node: number): string => {
  if (calledName(walker, node) !== "require") return "";
  const [source = -1] = argumentsOf(walker, node);
  return walker.text(walker.field(source, "content"));
};

/** Name for a module that is used right where it is required. A dot would end the name in an expression. */
export const moduleName = (source: string): string => `require/${source.replaceAll(".", "/")}`;

/** The table that `setmetatable` makes another one fall back on: `M` in `M` and in `{ __index = M }`. */
export const metatable = (walker: Walker, call: number): number => {
  const given = argumentsOf(walker, call)[1] ?? -1;
  if (walker.type(given) !== "table_constructor") return given;
  const index = walker
    .children(given)
    .find((field) => walker.text(walker.field(field, "name")) === "__index");
  return index === undefined ? -1 : walker.field(index, "value");
};

export const expression = (walker: Walker, node: number): Expression => {
  const source = requiredSource(walker, node);
  if (source !== "") return moduleName(source);
  if (calledName(walker, node) !== "setmetatable") return plainExpression(walker, node);
  const parent = metatable(walker, node);
  return walker.type(parent) === "identifier" ? `<${walker.text(parent)}>` : UNKNOWN;
};
