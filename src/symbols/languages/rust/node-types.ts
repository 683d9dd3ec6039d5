import type { Walker } from "../../extract/walker.ts";
import type { NodeTypes } from "../../rules/uses.ts";

/** Node types that name something. */
export const nodeTypes: NodeTypes = {
  names: new Set(["identifier", "self", "type_identifier"]),
  members: {
    field_expression: { object: "value", name: "field" },
    scoped_identifier: { object: "path", name: "name" },
    scoped_type_identifier: { object: "path", name: "name" },
  },
  wrappers: new Set(
    `parenthesized_expression reference_expression try_expression await_expression unary_expression
    generic_function generic_type`.split(/\s+/),
  ),
  calls: { call_expression: { function: "function" } },
  creations: { struct_expression: "name" },
  literals: new Set(
    `string_literal integer_literal float_literal boolean_literal char_literal binary_expression
    raw_string_literal`.split(/\s+/),
  ),
  self: new Set(["self"]),
  parent: new Set(),
  casts: { type_cast_expression: "type" },
  elements: { index_expression: "value" },
};

export const isPublic = (walker: Walker, _name: string, node: number): boolean =>
  walker.child(node, "visibility_modifier") >= 0;
