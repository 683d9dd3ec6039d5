import { step } from "../extract/expression.ts";
import type { Handler, Rules, Walker } from "../extract/walker.ts";
import {
  block,
  functionDefinition,
  parameter,
  refersTo,
  removeSpaces,
  skip,
  typeAlias,
  typeDefinition,
  variable,
  visitOthers,
} from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { callOf, creationOf, expressionOf, memberOf, type NodeTypes } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";
import { jvm } from "./jvm.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier", "this"]),
  members: { field_expression: { object: "value", name: "field" } },
  wrappers: new Set(["parenthesized_expression", "generic_function"]),
  calls: { call_expression: { function: "function" } },
  creations: { instance_expression: ["type_identifier", "generic_type", "stable_type_identifier"] },
  literals: new Set(
    `string integer_literal boolean_literal floating_point_literal character_literal null_literal
    interpolated_string_expression`.split(/\s+/),
  ),
  self: new Set(["this"]),
  parent: new Set(["super"]),
  casts: {},
  elements: {},
};

const importDeclaration: Handler = (walker, node) => {
  const path = [...walker.children(node)]
    .filter((child) => walker.tree.fieldName(child) === "path")
    .map((child) => walker.text(child));
  const selectors = walker.child(node, "namespace_selectors");
  const source = removeSpaces(path.join("."));
  if (walker.child(node, "namespace_wildcard") >= 0) walker.import({ source, name: "*", local: "*" }, node);
  else if (selectors < 0) {
    const name = path.at(-1) ?? "";
    walker.import({ source: path.slice(0, -1).join("."), name, local: name }, node);
  } else
    for (const one of walker.children(selectors)) {
      const renamed = walker.field(one, "alias");
      const name = walker.text(renamed < 0 ? one : walker.field(one, "name"));
      if (name === "_" || name === "*") walker.import({ source, name: "*", local: "*" }, one);
      else walker.import({ source, name, local: renamed < 0 ? name : walker.text(renamed) }, one);
    }
};

const extend: Handler = (walker, node) => {
  for (const child of walker.children(node)) {
    const type = walker.type(child);
    if (type === "type_identifier") walker.refer(walker.text(child), child, "inherit");
    else if (type === "generic_type") {
      const name = walker.field(child, "type");
      walker.refer(walker.text(name), name, "inherit");
      walker.visitField(child, "type_arguments");
    } else walker.visit(child);
  }
};

const classParameter: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = walker.field(node, "type");
  walker.define(walker.text(name), "field", name, node, {
    exported: true,
    type: writtenType(walker.text(type)),
  });
  walker.visit(type);
  walker.visitField(node, "default_value");
};

const lambda: Handler = (walker, node) => {
  walker.scopes.enter("function");
  const parameters = walker.field(node, "parameters");
  if (walker.type(parameters) === "identifier") walker.scopes.bindLocal(walker.text(parameters), "");
  else if (parameters >= 0)
    for (const child of walker.children(parameters)) {
      const type = walker.field(child, "type");
      walker.scopes.bindLocal(
        walker.text(walker.field(child, "name")),
        type < 0 ? "" : writtenType(walker.text(type)),
      );
    }
  visitOthers(walker, node, parameters);
  walker.scopes.leave();
};

const bindPattern = (walker: Walker, node: number, type: string): void => {
  if (walker.type(node) === "identifier") {
    if (/^[a-z_]/.test(walker.text(node))) walker.scopes.bindLocal(walker.text(node), type);
  } else if (walker.type(node) === "typed_pattern") {
    const written = walker.field(node, "type");
    bindPattern(walker, walker.field(node, "pattern"), writtenType(walker.text(written)));
    walker.visit(written);
  } else if (walker.type(node) === "case_class_pattern") {
    const name = walker.field(node, "type");
    walker.refer(walker.text(name), name, "read");
    for (const child of walker.children(node)) if (child !== name) bindPattern(walker, child, "");
  } else for (const child of walker.children(node)) bindPattern(walker, child, "");
};

const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression: expressionOf(nodeTypes),
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["block_comment", skip],
    [
      "package_clause",
      (walker, node) => {
        walker.setModule(removeSpaces(walker.text(walker.field(node, "name"))));
        walker.visitField(node, "body");
      },
    ],
    ["import_declaration", importDeclaration],
    ["class_definition", typeDefinition("class")],
    ["object_definition", typeDefinition("class")],
    ["trait_definition", typeDefinition("interface")],
    ["enum_definition", typeDefinition("enum")],
    ["type_definition", typeAlias()],
    ["extends_clause", extend],
    ["class_parameter", classParameter],
    ["function_definition", functionDefinition({ result: "return_type" })],
    ["function_declaration", functionDefinition({ result: "return_type" })],
    ["parameter", parameter()],
    ["val_definition", variable({ name: "pattern", type: "type", value: "value" })],
    ["var_definition", variable({ name: "pattern", type: "type", value: "value" })],
    ["val_declaration", variable({ type: "type" })],
    ["lambda_expression", lambda],
    [
      "enumerator",
      (walker, node) => {
        const [pattern = -1, value = -1] = walker.children(node);
        walker.visit(value);
        bindPattern(walker, pattern, step(walker.expression(value), "[]"));
      },
    ],
    [
      "case_clause",
      (walker, node) => {
        walker.scopes.enter("block");
        bindPattern(walker, walker.field(node, "pattern"), "");
        walker.visitField(node, "guard");
        walker.visitField(node, "body");
        walker.scopes.leave();
      },
    ],
    ["block", block],
    ["for_expression", block],
    ["call_expression", callOf(nodeTypes)],
    ["instance_expression", creationOf(nodeTypes, ["type_identifier"])],
    ["field_expression", memberOf(nodeTypes)],
    ["identifier", refersTo("read")],
    ["type_identifier", refersTo("type")],
  ]),
};

export const scala: SymbolLanguage = { ids: ["scala"], rules, family: jvm };
