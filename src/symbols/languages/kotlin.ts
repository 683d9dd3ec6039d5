import { step, UNKNOWN } from "../extract/expression.ts";
import type { Handler, Rules } from "../extract/walker.ts";
import {
  bindName,
  closure,
  firstOf,
  refersTo,
  removeSpaces,
  skip,
  typeAlias,
  unlessPrivate,
  visitOthers,
} from "../rules/handlers.ts";
import { createNavigation } from "../rules/navigation.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import type { NodeTypes } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";
import { jvm } from "./jvm.ts";

const TYPES = ["user_type", "nullable_type", "function_type", "parenthesized_type"];

const nodeTypes: NodeTypes = {
  names: new Set(["simple_identifier"]),
  members: {},
  wrappers: new Set(["parenthesized_expression", "postfix_expression", "directly_assignable_expression"]),
  calls: {},
  creations: {},
  literals: new Set(
    `string_literal integer_literal boolean_literal real_literal character_literal null_literal
    equality_expression comparison_expression additive_expression`.split(/\s+/),
  ),
  self: new Set(["this_expression"]),
  parent: new Set(["super_expression"]),
  casts: { as_expression: TYPES },
  elements: { indexing_expression: ["simple_identifier", "navigation_expression"] },
};

const { expression, handlers: navigation } = createNavigation(nodeTypes, (walker, node) =>
  walker.child(walker.child(node, "navigation_suffix"), "simple_identifier"),
);

const classDeclaration: Handler = (walker, node) => {
  const name = walker.child(node, "type_identifier", "simple_identifier");
  const head = walker.text(node).slice(0, 80);
  const kind = /^[^{(:]*\binterface\b/.test(head)
    ? "interface"
    : walker.child(node, "enum_class_body") >= 0
      ? "enum"
      : "class";
  const definition = walker.define(walker.text(name), kind, name, node, {
    exported: unlessPrivate(walker, "", node),
  });
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  visitOthers(walker, node, name);
  walker.scopes.leave();
};

const functionDeclaration: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.child(node, "simple_identifier");
  const children = [...walker.children(node)];
  const index = children.indexOf(name);
  // `fun Store.ext()`: a type before the name is what the function is added to; one after it is the result.
  const receiver = children.slice(0, index).find((child) => TYPES.includes(walker.type(child)));
  const result = children.slice(index).find((child) => TYPES.includes(walker.type(child)));
  const owner = receiver === undefined ? "" : (/^(\w+)/.exec(walker.text(receiver))?.[1] ?? "");
  const inClass = scopes.kind === "class";
  const definition = walker.define(
    walker.text(name),
    inClass || owner !== "" ? "method" : "function",
    name,
    node,
    {
      exported: unlessPrivate(walker, "", node),
      type: result === undefined ? "" : writtenType(walker.text(result)),
      ...(owner === "" ? {} : { attachedTo: owner, scope: -1 }),
    },
  );
  scopes.enter("function", definition >= 0 ? definition : undefined);
  for (const child of children) if (child !== name) walker.visit(child);
  const body = walker.child(node, "function_body");
  const value = firstOf(walker, body);
  if (walker.type(value) !== "statements" && value >= 0) walker.setType(definition, walker.expression(value));
  scopes.leave();
};

const property: Handler = (walker, node) => {
  const declared = walker.child(node, "variable_declaration");
  const several = walker.child(node, "multi_variable_declaration");
  const children = [...walker.children(node)];
  const value = children
    .slice(children.indexOf(declared) + 1)
    .find((child) => !/getter|setter|modifiers|annotation|delegate/.test(walker.type(child)));
  if (declared >= 0) {
    const type = walker.child(declared, ...TYPES);
    const known =
      type >= 0 ? writtenType(walker.text(type)) : value === undefined ? UNKNOWN : walker.expression(value);
    bindName(walker, walker.child(declared, "simple_identifier"), known, node);
    walker.visit(type);
  }
  if (several >= 0)
    for (const one of walker.children(several))
      walker.scopes.bindLocal(walker.text(walker.child(one, "simple_identifier")), "");
  for (const child of children) if (child !== declared && child !== several) walker.visit(child);
};

const parameterOf: Handler = (walker, node) => {
  const name = walker.child(node, "simple_identifier");
  const type = walker.child(node, ...TYPES);
  const known = type < 0 ? "" : writtenType(walker.text(type));
  if (walker.type(node) === "class_parameter" && walker.child(node, "binding_pattern_kind") >= 0)
    walker.define(walker.text(name), "field", name, node, { exported: true, type: known });
  else walker.scopes.bindLocal(walker.text(name), known);
  visitOthers(walker, node, name);
};

const importHeader: Handler = (walker, node) => {
  const path = removeSpaces(walker.text(walker.child(node, "identifier")));
  if (walker.child(node, "wildcard_import") >= 0) {
    walker.import({ source: path, name: "*", local: "*" }, node);
    return;
  }
  const dot = path.lastIndexOf(".");
  const name = path.slice(dot + 1);
  const alias = walker.text(firstOf(walker, walker.child(node, "import_alias")));
  walker.import({ source: path.slice(0, Math.max(0, dot)), name, local: alias === "" ? name : alias }, node);
};

const inherit: Handler = (walker, node) => {
  const holder = walker.child(node, "constructor_invocation");
  const type = walker.child(holder < 0 ? node : holder, "user_type");
  const [name = -1] = walker.children(type);
  if (walker.type(name) === "type_identifier") walker.refer(walker.text(name), name, "inherit");
  for (const child of walker.children(type))
    if (walker.type(child) !== "type_identifier") walker.visit(child);
  if (holder >= 0) walker.visit(walker.child(holder, "value_arguments"));
};

const loop: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const [declared = -1, list = -1, ...rest] = walker.children(node);
  walker.visit(list);
  walker.scopes.bindLocal(walker.text(firstOf(walker, declared)), step(walker.expression(list), "[]"));
  for (const child of rest) walker.visit(child);
  walker.scopes.leave();
};

const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression,
  handlers: new Map<string, Handler>([
    ["line_comment", skip],
    ["multiline_comment", skip],
    [
      "package_header",
      (walker, node) => walker.setModule(removeSpaces(walker.text(walker.child(node, "identifier")))),
    ],
    ["import_header", importHeader],
    ["class_declaration", classDeclaration],
    ["object_declaration", classDeclaration],
    [
      "enum_entry",
      (walker, node) => {
        const name = walker.child(node, "simple_identifier");
        walker.define(walker.text(name), "constant", name, node, { exported: true, type: "this" });
        visitOthers(walker, node, name);
      },
    ],
    ["type_alias", typeAlias(["type_identifier"], TYPES)],
    ["delegation_specifier", inherit],
    ["function_declaration", functionDeclaration],
    ["property_declaration", property],
    ["parameter", parameterOf],
    ["class_parameter", parameterOf],
    ["for_statement", loop],
    ["lambda_literal", closure],
    ["anonymous_function", closure],
    [
      "lambda_parameters",
      (walker, node) => {
        for (const child of walker.children(node)) {
          const type = walker.child(child, ...TYPES);
          walker.scopes.bindLocal(
            walker.text(walker.child(child, "simple_identifier")),
            type < 0 ? "" : writtenType(walker.text(type)),
          );
        }
      },
    ],
    ["type_parameter", (walker, node) => walker.scopes.bindLocal(walker.text(firstOf(walker, node)), "")],
    ...navigation,
    [
      "value_argument",
      (walker, node) => {
        // `name = value`
        const children = [...walker.children(node)];
        const hasName = children.length > 1 && walker.type(children[0] ?? -1) === "simple_identifier";
        for (const child of hasName ? children.slice(1) : children) walker.visit(child);
      },
    ],
    ["label", skip],
    [
      "simple_identifier",
      (walker, node) => {
        if (walker.text(node) !== "it") walker.refer(walker.text(node), node, "read");
      },
    ],
    ["type_identifier", refersTo("type")],
  ]),
};

export const kotlin: SymbolLanguage = { ids: ["kotlin"], rules, family: jvm };
