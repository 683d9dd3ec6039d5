import type { Handler, Rules, Walker } from "../extract/walker.ts";
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
  variable,
  visitOthers,
} from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { assigns, callOf, creationOf, expressionOf, memberOf, type NodeTypes } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";
import { jvm } from "./jvm.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier"]),
  members: { field_access: { object: "object", name: "field" } },
  wrappers: new Set(["parenthesized_expression"]),
  calls: { method_invocation: { object: "object", name: "name" } },
  creations: { object_creation_expression: "type" },
  literals: new Set(
    `string_literal decimal_integer_literal character_literal true false null_literal binary_expression
    decimal_floating_point_literal class_literal array_creation_expression`.split(/\s+/),
  ),
  self: new Set(["this"]),
  parent: new Set(["super"]),
  casts: { cast_expression: "type" },
  elements: { array_access: "array" },
};

const importDeclaration: Handler = (walker, node) => {
  const path = removeSpaces(walker.text(firstOf(walker, node)));
  if (walker.child(node, "asterisk") >= 0) {
    walker.import({ source: path, name: "*", local: "*" }, node);
    return;
  }
  const dot = path.lastIndexOf(".");
  const name = path.slice(dot + 1);
  walker.import({ source: path.slice(0, Math.max(0, dot)), name, local: name }, node);
};

/** `D a = …, b;`: one type for several names. */
const declarations: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const written = walker.text(type);
  for (const child of walker.children(node)) {
    if (walker.type(child) !== "variable_declarator") {
      walker.visit(child);
      continue;
    }
    declare(walker, child, written, node);
  }
};

const declare = (walker: Walker, node: number, written: string, whole: number): void => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const value = walker.field(node, "value");
  const type = written === "var" ? walker.expression(value) : writtenType(written);
  if (scopes.kind === "class") {
    const isConstant =
      /\bstatic\b/.test(walker.text(whole).slice(0, 60)) && /^[A-Z\d_]+$/.test(walker.text(name));
    const definition = walker.define(walker.text(name), isConstant ? "constant" : "field", name, whole, {
      exported: !/\bprivate\b/.test(walker.text(whole).slice(0, 60)),
      type,
    });
    scopes.enter("block", definition >= 0 ? definition : undefined);
    walker.visit(value);
    scopes.leave();
    return;
  }
  scopes.bindLocal(walker.text(name), type);
  walker.visit(value);
};

const annotation: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.refer(walker.text(name).split(".").at(-1) ?? "", name, "decorate");
  walker.visitField(node, "arguments");
};

const recordDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "class", name, node, { exported: true });
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  const list = walker.field(node, "parameters");
  for (const entry of walker.children(list)) {
    const field = walker.field(entry, "name");
    walker.define(walker.text(field), "field", field, entry, {
      exported: true,
      type: writtenType(walker.text(walker.field(entry, "type"))),
    });
    walker.visitField(entry, "type");
  }
  visitOthers(walker, node, name, list);
  walker.scopes.leave();
};

const bindInferred: Handler = (walker, node) => {
  for (const child of walker.children(node)) walker.scopes.bindLocal(walker.text(child), "");
};

const lambda: Handler = (walker, node) => {
  walker.scopes.enter("function");
  const parameters = walker.field(node, "parameters");
  if (walker.type(parameters) === "identifier") walker.scopes.bindLocal(walker.text(parameters), "");
  else walker.visit(parameters);
  walker.visitField(node, "body");
  walker.scopes.leave();
};

const methodReference: Handler = (walker, node) => {
  const [object = -1, name = -1] = walker.children(node);
  walker.visit(object);
  if (name >= 0) walker.refer(walker.text(name), name, "read", walker.expression(object));
};

const scopedType: Handler = (walker, node) => {
  const parts = [...walker.children(node)].filter((child) => /type_identifier$/.test(walker.type(child)));
  const [scope = -1] = parts;
  const last = parts.at(-1) ?? -1;
  if (scope !== last) walker.visit(scope);
  walker.refer(walker.text(last), last, "type", removeSpaces(walker.text(scope)));
};

const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression: expressionOf(nodeTypes),
  handlers: new Map<string, Handler>([
    ["line_comment", skip],
    ["block_comment", skip],
    [
      "package_declaration",
      (walker, node) =>
        walker.setModule(removeSpaces(walker.text(walker.child(node, "scoped_identifier", "identifier")))),
    ],
    ["import_declaration", importDeclaration],
    ["class_declaration", typeDefinition("class")],
    ["interface_declaration", typeDefinition("interface")],
    ["annotation_type_declaration", typeDefinition("interface")],
    ["enum_declaration", typeDefinition("enum")],
    ["record_declaration", recordDeclaration],
    [
      "enum_constant",
      (walker, node) => {
        const name = walker.field(node, "name");
        const definition = walker.define(walker.text(name), "constant", name, node, {
          exported: true,
          type: "this",
        });
        walker.scopes.enter("function", definition >= 0 ? definition : undefined);
        walker.visitField(node, "arguments");
        walker.visitField(node, "body");
        walker.scopes.leave();
      },
    ],
    ["method_declaration", functionDefinition({ result: "type" })],
    ["annotation_type_element_declaration", functionDefinition({ result: "type" })],
    ["constructor_declaration", functionDefinition({ constructs: true })],
    ["compact_constructor_declaration", functionDefinition({ constructs: true })],
    ["superclass", inherits(["type_identifier"])],
    ["super_interfaces", inherits(["type_identifier"])],
    ["extends_interfaces", inherits(["type_identifier"])],
    ["field_declaration", declarations],
    ["constant_declaration", declarations],
    ["local_variable_declaration", declarations],
    ["formal_parameter", parameter()],
    [
      "spread_parameter",
      (walker, node) => {
        const name = walker.field(walker.child(node, "variable_declarator"), "name");
        walker.scopes.bindLocal(walker.text(name), `{${writtenType(walker.text(firstOf(walker, node)))}}`);
        walker.visit(firstOf(walker, node));
      },
    ],
    ["catch_formal_parameter", parameter("name", ["catch_type"])],
    [
      "enhanced_for_statement",
      (walker, node) => {
        walker.scopes.enter("block");
        variable({ type: "type", value: "value", each: true })(walker, node);
        walker.scopes.leave();
      },
    ],
    ["resource", variable({ type: "type", value: "value" })],
    [
      "instanceof_expression",
      (walker, node) => {
        const name = walker.field(node, "name");
        if (name >= 0)
          walker.scopes.bindLocal(walker.text(name), writtenType(walker.text(walker.field(node, "right"))));
        visitOthers(walker, node, name);
      },
    ],
    ["type_pattern", parameter(["identifier"], ["type_identifier", "generic_type"])],
    ["inferred_parameters", bindInferred],
    ["lambda_expression", lambda],
    [
      "type_parameter",
      (walker, node) => {
        walker.scopes.bindLocal(walker.text(firstOf(walker, node)), "");
        walker.visit(walker.child(node, "type_bound"));
      },
    ],
    ["block", block],
    ["constructor_body", block],
    ["for_statement", block],
    ["switch_block", block],
    ["try_with_resources_statement", block],
    ["catch_clause", block],
    [
      "class_body",
      (walker, node) =>
        walker.type(walker.tree.parent[node] ?? -1) === "object_creation_expression"
          ? closure(walker, node)
          : walker.visitChildren(node),
    ],
    ["method_invocation", callOf(nodeTypes)],
    ["object_creation_expression", creationOf(nodeTypes, ["type_identifier"])],
    ["method_reference", methodReference],
    ["field_access", memberOf(nodeTypes)],
    ["assignment_expression", assigns(nodeTypes)],
    ["return_statement", returns()],
    ["marker_annotation", annotation],
    ["annotation", annotation],
    ["element_value_pair", (walker, node) => walker.visitField(node, "value")],
    [
      "labeled_statement",
      (walker, node) => {
        for (const child of walker.children(node))
          if (walker.type(child) !== "identifier") walker.visit(child);
      },
    ],
    ["break_statement", skip],
    ["continue_statement", skip],
    ["scoped_type_identifier", scopedType],
    ["identifier", refersTo("read")],
    ["type_identifier", refersTo("type")],
  ]),
};

export const java: SymbolLanguage = { ids: ["java"], rules, family: jvm };
