import type { Handler, Rules } from "../extract/walker.ts";
import type { Family } from "../project/family.ts";
import {
  block,
  closure,
  firstOf,
  functionDefinition,
  inherits,
  parameter,
  refersTo,
  removeSpaces,
  returns,
  skip,
  typeDefinition,
  unlessPrivate,
  variable,
  visitOthers,
} from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { assigns, callOf, creationOf, expressionOf, memberOf, type NodeTypes } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";
import { isOwnNamespace } from "./namespaces.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier"]),
  members: {
    member_access_expression: { object: "expression", name: "name" },
    qualified_name: { object: "qualifier", name: "name" },
    member_binding_expression: { object: "none", name: "name" },
  },
  wrappers: new Set([
    "parenthesized_expression",
    "await_expression",
    "generic_name",
    "postfix_unary_expression",
  ]),
  calls: { invocation_expression: { function: "function" } },
  creations: { object_creation_expression: "type" },
  literals: new Set(
    `string_literal integer_literal real_literal boolean_literal null_literal character_literal
    interpolated_string_expression binary_expression typeof_expression verbatim_string_literal`.split(/\s+/),
  ),
  self: new Set(["this", "this_expression"]),
  parent: new Set(["base", "base_expression"]),
  casts: { cast_expression: "type", as_expression: "right" },
  elements: { element_access_expression: "expression" },
};

const namespace: Handler = (walker, node) => {
  walker.setModule(removeSpaces(walker.text(walker.field(node, "name"))));
  for (const child of walker.children(node)) if (walker.tree.fieldName(child) !== "name") walker.visit(child);
};

/** `D a = …, b;`: one type for several names. */
const declaration: Handler = (walker, node) => {
  const { scopes } = walker;
  const type = walker.field(node, "type");
  const written = walker.text(type);
  const whole = walker.tree.parent[node] ?? node;
  for (const child of walker.children(node)) {
    if (walker.type(child) !== "variable_declarator") {
      walker.visit(child);
      continue;
    }
    const name = walker.field(child, "name");
    const parts = [...walker.children(child)].filter((part) => part !== name);
    const value = parts.at(-1) ?? -1;
    const known = written === "var" ? walker.expression(value) : writtenType(written);
    if (scopes.kind === "class")
      walker.define(walker.text(name), "field", name, whole, {
        exported: unlessPrivate(walker, "", whole),
        type: known,
      });
    else scopes.bindLocal(walker.text(name), known);
    for (const part of parts) walker.visit(part);
  }
};

const property: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = walker.field(node, "type");
  const definition = walker.define(walker.text(name), "field", name, node, {
    exported: unlessPrivate(walker, "", node),
    type: writtenType(walker.text(type)),
  });
  walker.scopes.enter("function", definition >= 0 ? definition : undefined);
  visitOthers(walker, node, name);
  walker.scopes.leave();
};

const using: Handler = (walker, node) => {
  const alias = walker.text(walker.field(node, "name"));
  const path = removeSpaces(walker.text([...walker.children(node)].at(-1) ?? -1));
  const dot = path.lastIndexOf(".");
  if (alias !== "")
    walker.import({ source: path.slice(0, Math.max(0, dot)), name: path.slice(dot + 1), local: alias }, node);
  else walker.import({ source: path, name: "*", local: "*" }, node);
};

const attribute: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const text = walker.text(name).split(".").at(-1) ?? "";
  walker.refer(text, name, "decorate");
  walker.refer(`${text}Attribute`, name, "decorate");
  walker.visit(walker.child(node, "attribute_argument_list"));
};

const enumMember: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.define(walker.text(name), "constant", name, node, { exported: true, scope: -1 });
};

const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression: expressionOf(nodeTypes),
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["using_directive", using],
    ["namespace_declaration", namespace],
    ["file_scoped_namespace_declaration", namespace],
    ["class_declaration", typeDefinition("class")],
    ["struct_declaration", typeDefinition("class")],
    ["record_declaration", typeDefinition("class")],
    ["interface_declaration", typeDefinition("interface")],
    ["enum_declaration", typeDefinition("enum")],
    ["delegate_declaration", functionDefinition({ result: "type" })],
    ["base_list", inherits(["identifier"], ["type_argument_list", "argument_list"])],
    ["enum_member_declaration", enumMember],
    ["method_declaration", functionDefinition({ result: "returns" })],
    ["local_function_statement", functionDefinition({ result: "type" })],
    ["constructor_declaration", functionDefinition({ constructs: true })],
    ["property_declaration", property],
    ["variable_declaration", declaration],
    ["parameter", parameter()],
    ["implicit_parameter", (walker, node) => walker.scopes.bindLocal(walker.text(node), "")],
    [
      "type_parameter",
      (walker, node) => walker.scopes.bindLocal(walker.text(walker.field(node, "name")), ""),
    ],
    [
      "foreach_statement",
      (walker, node) => {
        walker.scopes.enter("block");
        variable({ name: "left", type: "type", value: "right", each: true })(walker, node);
        walker.scopes.leave();
      },
    ],
    ["declaration_pattern", parameter()],
    ["catch_declaration", parameter()],
    ["declaration_expression", parameter()],
    ["lambda_expression", closure],
    ["anonymous_method_expression", closure],
    ["block", block],
    ["for_statement", block],
    ["using_statement", block],
    ["invocation_expression", callOf(nodeTypes)],
    ["object_creation_expression", creationOf(nodeTypes, ["identifier"])],
    ["member_access_expression", memberOf(nodeTypes)],
    ["qualified_name", memberOf(nodeTypes, "type")],
    [
      "member_binding_expression",
      (walker, node) => {
        const name = walker.field(node, "name");
        const condition = walker.field(walker.tree.parent[node] ?? -1, "condition");
        walker.refer(walker.text(name), name, "call", walker.expression(condition));
      },
    ],
    ["assignment_expression", assigns(nodeTypes)],
    ["name_colon", skip],
    ["return_statement", returns()],
    ["attribute", attribute],
    [
      "identifier",
      (walker, node) => {
        const field = walker.tree.fieldName(node);
        walker.refer(walker.text(node), node, field === "type" || field === "returns" ? "type" : "read");
      },
    ],
    ["label_name", skip],
    ["implicit_type", skip],
    [
      "generic_name",
      (walker, node) => {
        refersTo("type")(walker, firstOf(walker, node));
        walker.visit(walker.child(node, "type_argument_list"));
      },
    ],
  ]),
};

const family: Family = {
  name: "csharp",
  reach: "project",
  isOwnSource: (files, source) => isOwnNamespace(family, files, source),
  hidesWildcards: true,
  hasOpenTypes: true,
};

export const csharp: SymbolLanguage = { ids: ["csharp"], rules, family };
