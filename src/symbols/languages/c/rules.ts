import type { Handler, Rules } from "../../extract/walker.ts";
import { block, closure, firstOf, inherits, refersTo, skip, visitOthers } from "../../rules/handlers.ts";
import { assigns, callOf, creationOf, expressionOf, memberOf, type NodeTypes } from "../../rules/uses.ts";
import {
  aliasDeclaration,
  declaration,
  enumerator,
  forRangeLoop,
  functionDefinition,
  macro,
  parameterOf,
  specifier,
  typeDefinition,
} from "./declarations.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier", "namespace_identifier"]),
  members: {
    field_expression: { object: "argument", name: "field" },
    qualified_identifier: { object: "scope", name: "name" },
  },
  wrappers: new Set(["parenthesized_expression", "pointer_expression", "template_function"]),
  calls: { call_expression: { function: "function" } },
  creations: { new_expression: "type", compound_literal_expression: "type" },
  literals: new Set(
    `string_literal number_literal char_literal true false null binary_expression sizeof_expression
    concatenated_string`.split(/\s+/),
  ),
  self: new Set(["this"]),
  parent: new Set(),
  casts: { cast_expression: "type" },
  elements: { subscript_expression: "argument" },
};

const include: Handler = (walker, node) => {
  const path = walker.text(walker.field(node, "path"));
  if (path.startsWith('"')) walker.import({ source: path.slice(1, -1), name: "*", local: "*" }, node);
};

export const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression: expressionOf(nodeTypes),
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["preproc_include", include],
    ["preproc_def", macro],
    ["preproc_function_def", macro],
    [
      "preproc_ifdef",
      (walker, node) => {
        for (const child of walker.children(node))
          if (walker.tree.fieldName(child) !== "name") walker.visit(child);
      },
    ],
    ["function_definition", functionDefinition],
    ["declaration", declaration],
    ["field_declaration", declaration],
    ["struct_specifier", specifier("class")],
    ["union_specifier", specifier("class")],
    ["class_specifier", specifier("class")],
    ["enum_specifier", specifier("enum")],
    ["enumerator", enumerator],
    ["type_definition", typeDefinition],
    ["alias_declaration", aliasDeclaration],
    ["base_class_clause", inherits(["type_identifier"])],
    ["namespace_definition", (walker, node) => walker.visitField(node, "body")],
    ["parameter_declaration", parameterOf],
    ["optional_parameter_declaration", parameterOf],
    ["for_range_loop", forRangeLoop],
    [
      "type_parameter_declaration",
      (walker, node) => walker.scopes.bindLocal(walker.text(firstOf(walker, node)), ""),
    ],
    ["template_declaration", block],
    ["compound_statement", block],
    ["for_statement", block],
    ["lambda_expression", closure],
    ["call_expression", callOf(nodeTypes)],
    ["new_expression", creationOf(nodeTypes, ["type_identifier"])],
    ["field_expression", memberOf(nodeTypes)],
    [
      "qualified_identifier",
      (walker, node) => {
        const name = walker.field(node, "name");
        const scope = walker.text(walker.field(node, "scope"));
        // Namespaces are not symbols of the graph; classes are.
        if (/^(?:identifier|type_identifier)$/.test(walker.type(name)))
          walker.refer(walker.text(name), name, "read", /^[A-Z]/.test(scope) ? scope : "");
        else walker.visit(name);
      },
    ],
    ["assignment_expression", assigns(nodeTypes)],
    [
      "field_initializer",
      (walker, node) => {
        const name = walker.child(node, "field_identifier");
        walker.refer(walker.text(name), name, "write", "this");
        visitOthers(walker, node, name);
      },
    ],
    ["field_designator", skip],
    ["statement_identifier", skip],
    ["identifier", refersTo("read")],
    ["type_identifier", refersTo("type")],
  ]),
};
