import { step, UNKNOWN } from "../extract/expression.ts";
import type { Handler, Rules, Walker } from "../extract/walker.ts";
import { bindName, closure, refersTo, skip, unlessPrivate, visitOthers } from "../rules/handlers.ts";
import { createNavigation } from "../rules/navigation.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import type { NodeTypes } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["simple_identifier"]),
  members: {},
  wrappers: new Set([
    "tuple_expression",
    "try_expression",
    "await_expression",
    "postfix_expression",
    "directly_assignable_expression",
  ]),
  calls: {},
  creations: {},
  literals: new Set(
    `line_string_literal integer_literal boolean_literal real_literal nil array_literal
    dictionary_literal`.split(/\s+/),
  ),
  self: new Set(["self_expression"]),
  parent: new Set(["super_expression"]),
  casts: { as_expression: ["user_type"] },
  elements: {},
};

const { expression, handlers: navigation } = createNavigation(nodeTypes, (walker, node) =>
  walker.field(walker.field(node, "suffix"), "suffix"),
);

/** Types written with the field `name` beside the real name. */
const typeAfter = (walker: Walker, node: number, name: number): number => {
  for (const child of walker.children(node))
    if (child !== name && walker.tree.fieldName(child) === "name" && /_type$/.test(walker.type(child)))
      return child;
  return -1;
};

const classDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const text = walker.text(name).replace(/<.*$/s, "");
  const isExtension = /^(?:[\w@]+\s+)*extension\b/.test(walker.text(node).slice(0, 60));
  const kind =
    walker.type(node) === "protocol_declaration"
      ? "interface"
      : walker.child(node, "enum_class_body") >= 0
        ? "enum"
        : "class";
  if (isExtension) walker.refer(text, name, "type");
  // An extension adds to the class of its name, whatever part of it that is.
  const definition = walker.define(text.split(".").at(-1) ?? "", kind, name, node, {
    exported: unlessPrivate(walker, "", node),
  });
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  visitOthers(walker, node, name);
  walker.scopes.leave();
};

const functionDeclaration: Handler = (walker, node) => {
  const { scopes } = walker;
  const isInit = walker.type(node) === "init_declaration";
  const name = walker.field(node, "name");
  const result = isInit ? -1 : typeAfter(walker, node, name);
  const definition = walker.define(
    isInit ? "init" : walker.text(name),
    scopes.kind === "class" ? "method" : "function",
    isInit ? node : name,
    node,
    {
      exported: unlessPrivate(walker, "", node),
      type: isInit ? "this" : result < 0 ? "" : writtenType(walker.text(result)),
    },
  );
  scopes.enter("function", definition >= 0 ? definition : undefined);
  for (const child of walker.children(node)) if (child !== name || isInit) walker.visit(child);
  scopes.leave();
};

const parameterOf: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = typeAfter(walker, node, name);
  walker.scopes.bindLocal(walker.text(name), type < 0 ? "" : writtenType(walker.text(type)));
  walker.visit(type);
};

const property: Handler = (walker, node) => {
  const name = walker.field(walker.field(node, "name"), "bound_identifier");
  const annotation = walker.child(node, "type_annotation");
  const value = walker.field(node, "value");
  const type =
    annotation >= 0 ? writtenType(walker.text(annotation)) : value >= 0 ? walker.expression(value) : UNKNOWN;
  if (name >= 0) bindName(walker, name, type, node);
  for (const child of walker.children(node)) if (walker.tree.fieldName(child) !== "name") walker.visit(child);
};

const condition: Handler = (walker, node) => {
  const children = [...walker.children(node)];
  for (const [index, child] of children.entries()) {
    if (walker.tree.fieldName(child) !== "bound_identifier") {
      walker.visit(child);
      continue;
    }
    const value = children[index + 1];
    walker.scopes.bindLocal(walker.text(child), value === undefined ? "" : walker.expression(value));
  }
};

const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["multiline_comment", skip],
    ["import_declaration", skip],
    ["class_declaration", classDeclaration],
    ["protocol_declaration", classDeclaration],
    [
      "typealias_declaration",
      (walker, node) => {
        const name = walker.field(node, "name");
        walker.define(walker.text(name), "type", name, node, { exported: true });
        visitOthers(walker, node, name);
      },
    ],
    [
      "inheritance_specifier",
      (walker, node) => {
        const name = walker.child(walker.field(node, "inherits_from"), "type_identifier");
        if (name >= 0) walker.refer(walker.text(name), name, "inherit");
      },
    ],
    ["function_declaration", functionDeclaration],
    ["protocol_function_declaration", functionDeclaration],
    ["init_declaration", functionDeclaration],
    [
      "enum_entry",
      (walker, node) => {
        for (const child of walker.children(node)) {
          if (walker.type(child) === "simple_identifier")
            walker.define(walker.text(child), "constant", child, node, {
              exported: true,
              scope: -1,
              type: "this",
            });
          else walker.visit(child);
        }
      },
    ],
    ["property_declaration", property],
    ["protocol_property_declaration", property],
    ["parameter", parameterOf],
    ["lambda_literal", closure],
    [
      "lambda_parameter",
      (walker, node) => walker.scopes.bindLocal(walker.text(walker.child(node, "simple_identifier")), ""),
    ],
    [
      "for_statement",
      (walker, node) => {
        walker.scopes.enter("block");
        const list = walker.field(node, "collection");
        walker.visit(list);
        const item = walker.field(walker.field(node, "item"), "bound_identifier");
        walker.scopes.bindLocal(walker.text(item), step(walker.expression(list), "[]"));
        for (const child of walker.children(node))
          if (walker.tree.fieldName(child) === "") walker.visit(child);
        walker.scopes.leave();
      },
    ],
    [
      "if_statement",
      (walker, node) => {
        walker.scopes.enter("block");
        condition(walker, node);
        walker.scopes.leave();
      },
    ],
    ["guard_statement", condition],
    ...navigation,
    ["value_argument", (walker, node) => walker.visitField(node, "value")],
    [
      "simple_identifier",
      (walker, node) => {
        if (!walker.text(node).startsWith("$")) walker.refer(walker.text(node), node, "read");
      },
    ],
    ["type_identifier", refersTo("type")],
  ]),
};

export const swift: SymbolLanguage = {
  ids: ["swift"],
  rules,
  family: { name: "swift", reach: "project", hasOpenTypes: true },
};
