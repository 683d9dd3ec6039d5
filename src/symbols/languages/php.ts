import type { Handler, Rules, Walker } from "../extract/walker.ts";
import type { Family } from "../project/family.ts";
import {
  bindName,
  closure,
  firstOf,
  functionDefinition,
  inherits,
  refersTo,
  returns,
  skip,
  typeDefinition,
  unlessPrivate,
  visitOthers,
} from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { callOf, creationOf, expressionOf, memberOf, type NodeTypes } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";
import { isOwnNamespace } from "./namespaces.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["variable_name", "name", "relative_scope"]),
  members: {
    member_access_expression: { object: "object", name: "name" },
    nullsafe_member_access_expression: { object: "object", name: "name" },
    scoped_property_access_expression: { object: "scope", name: "name" },
  },
  wrappers: new Set(["parenthesized_expression", "clone_expression"]),
  calls: {
    function_call_expression: { function: "function" },
    member_call_expression: { object: "object", name: "name" },
    nullsafe_member_call_expression: { object: "object", name: "name" },
    scoped_call_expression: { object: "scope", name: "name" },
  },
  creations: { object_creation_expression: ["name", "qualified_name"] },
  literals: new Set(
    `string encapsed_string integer float boolean null array_creation_expression binary_expression
    heredoc`.split(/\s+/),
  ),
  self: new Set(),
  parent: new Set(),
  casts: {},
  elements: { subscript_expression: ["variable_name", "member_access_expression"] },
};

const useClause: Handler = (walker, node) => {
  const declaration = walker.tree.parent[node] ?? -1;
  const inGroup = walker.type(declaration) === "namespace_use_group";
  const prefix = inGroup
    ? walker.text(walker.child(walker.tree.parent[declaration] ?? -1, "namespace_name"))
    : "";
  const target = firstOf(walker, node);
  const path = `${prefix === "" ? "" : `${prefix}\\`}${walker.text(target)}`.replace(/^\\/, "");
  const cut = path.lastIndexOf("\\");
  const name = path.slice(cut + 1);
  const alias = walker.text(walker.field(node, "alias"));
  walker.import({ source: path.slice(0, Math.max(0, cut)), name, local: alias === "" ? name : alias }, node);
};

const property: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  for (const child of walker.children(node)) {
    if (walker.type(child) !== "property_element") continue;
    const name = walker.field(child, "name");
    walker.define(walker.text(name).replace(/^\$/, ""), "field", name, node, {
      exported: unlessPrivate(walker, "", node),
      scope: -1,
      type: type < 0 ? "" : writtenType(walker.text(type)),
    });
    walker.visitField(child, "default_value");
  }
};

const parameterOf: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = walker.field(node, "type");
  const known = type < 0 ? "" : writtenType(walker.text(type));
  const text = walker.text(name).replace(/^\$/, "");
  walker.scopes.bindLocal(text, known);
  if (walker.type(node) === "property_promotion_parameter") {
    const owner = walker.parentOf(walker.scopes.definition);
    if (owner >= 0)
      walker.define(text, "field", name, node, { parent: owner, scope: -1, exported: true, type: known });
  }
  walker.visit(type);
  walker.visitField(node, "default_value");
};

const assignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  walker.visit(right);
  if (walker.type(left) === "variable_name") {
    if (walker.scopes.nearest("function") > 0) bindName(walker, left, walker.expression(right), node);
    else walker.scopes.bindLocal(walker.text(left).replace(/^\$/, ""), walker.expression(right));
  } else walker.visit(left);
};

const loop: Handler = (walker, node) => {
  const [list = -1, element = -1] = walker.children(node);
  walker.visit(list);
  const value = walker.type(element) === "pair" ? ([...walker.children(element)].at(-1) ?? -1) : element;
  const known = walker.expression(list);
  if (walker.type(value) === "variable_name")
    walker.scopes.bindLocal(walker.text(value).replace(/^\$/, ""), known === "?" ? "" : `${known}[]`);
  walker.visitField(node, "body");
};

const constant = (walker: Walker, node: number): void => {
  const name = firstOf(walker, node);
  walker.define(walker.text(name), "constant", name, node, { exported: true, scope: -1 });
  visitOthers(walker, node, name);
};

/** `\A\B\C` and `B\C`: the last part is what is meant. */
const qualified: Handler = (walker, node) => {
  const name = [...walker.children(node)].at(-1) ?? -1;
  walker.refer(walker.text(name), name, "type");
};

const rules: Rules = {
  membersVisible: false,
  outerNames: true,
  expression: expressionOf(nodeTypes),
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["text", skip],
    [
      "namespace_definition",
      (walker, node) => {
        walker.setModule(walker.text(walker.field(node, "name")));
        walker.visitField(node, "body");
      },
    ],
    ["namespace_use_clause", useClause],
    ["namespace_name", skip],
    ["class_declaration", typeDefinition("class")],
    ["interface_declaration", typeDefinition("interface")],
    ["trait_declaration", typeDefinition("class")],
    ["enum_declaration", typeDefinition("enum")],
    [
      "enum_case",
      (walker, node) => {
        const name = walker.field(node, "name");
        walker.define(walker.text(name), "constant", name, node, { exported: true, scope: -1, type: "this" });
      },
    ],
    ["base_clause", inherits(["name"])],
    ["class_interface_clause", inherits(["name"])],
    ["use_declaration", inherits(["name"])],
    ["const_element", constant],
    ["property_declaration", property],
    ["method_declaration", functionDefinition({ result: "return_type", constructs: true })],
    ["function_definition", functionDefinition({ result: "return_type" })],
    ["simple_parameter", parameterOf],
    ["variadic_parameter", parameterOf],
    ["property_promotion_parameter", parameterOf],
    ["anonymous_function", closure],
    ["anonymous_function_creation_expression", closure],
    ["arrow_function", closure],
    ["assignment_expression", assignment],
    ["foreach_statement", loop],
    ["return_statement", returns()],
    ["function_call_expression", callOf(nodeTypes)],
    ["member_call_expression", callOf(nodeTypes)],
    ["nullsafe_member_call_expression", callOf(nodeTypes)],
    ["scoped_call_expression", callOf(nodeTypes)],
    ["object_creation_expression", creationOf(nodeTypes, ["name"])],
    ["member_access_expression", memberOf(nodeTypes)],
    ["nullsafe_member_access_expression", memberOf(nodeTypes)],
    [
      "class_constant_access_expression",
      (walker, node) => {
        const [scope = -1, name = -1] = walker.children(node);
        walker.visit(scope);
        if (walker.text(name) !== "class")
          walker.refer(walker.text(name), name, "read", walker.expression(scope));
      },
    ],
    [
      "named_type",
      (walker, node) => {
        const name = firstOf(walker, node);
        if (walker.type(name) === "name") walker.refer(walker.text(name), name, "type");
        else walker.visit(name);
      },
    ],
    ["qualified_name", qualified],
    ["relative_scope", skip],
    ["variable_name", refersTo("read")],
    ["name", refersTo("read")],
  ]),
};

const family: Family = {
  name: "php",
  reach: "package",
  isOwnSource: (files, source) => isOwnNamespace(family, files, source),
};

export const php: SymbolLanguage = { ids: ["php"], rules, family };
