import { type Expression, FOREIGN, UNKNOWN } from "../../extract/expression.ts";
import { SPREAD } from "../../extract/file-symbols.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { classBody } from "./class-body.ts";
import { functionBody, isFunction } from "./functions.ts";
import { memberName, method } from "./members.ts";

export interface Property {
  /** Definition that has the property; -1 for the module itself. */
  readonly owner: number;
  readonly name: string;
  readonly nameNode: number;
  readonly whole: number;
  readonly value: number;
}

const isInformative = (value: Expression): boolean =>
  value !== "" && value !== UNKNOWN && value !== FOREIGN && value !== `{${UNKNOWN}}`;

/** `Symbol("name")`: a key by which files share a property. */
const isSymbol = (walker: Walker, node: number): boolean =>
  walker.type(node) === "call_expression" &&
  /^Symbol(?:\.for)?$/.test(walker.text(walker.field(node, "function")));

/** `{ FST_ERR_NOT_FOUND: createError(…) }`: a name in capitals is a constant, wherever it stands. */
const CONSTANT_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;

/** The property names a constant itself, and does not stand for what something else defines. */
const isConstant = (walker: Walker, name: string, value: number): boolean =>
  CONSTANT_NAME.test(name) && !/^(?:identifier|member_expression)$/.test(walker.type(value));

/** A property that holds what something else defines, in this file or in another. */
export const holdLater = (
  walker: Walker,
  owner: number,
  name: string,
  node: number,
  value: Expression,
): void => {
  if (!isInformative(value)) return;
  walker.later(() => {
    const { scopes } = walker;
    if (isInformative(scopes.resolve(value, scopes.current, true)))
      walker.define(name, "alias", node, node, { parent: owner, scope: -1, type: value });
  });
};

/** Defines what a property holds, or notes what it stands for, and visits the value. */
export const defineProperty = (walker: Walker, { owner, name, nameNode, whole, value }: Property): void => {
  const options = { parent: owner, scope: -1, exported: true };
  if (isFunction(walker, value)) {
    const kind = owner < 0 ? "function" : "method";
    functionBody(walker, value, walker.define(name, kind, nameNode, whole, options));
  } else if (walker.type(value) === "class")
    classBody(walker, value, walker.define(name, "class", nameNode, whole, options));
  else if (
    isSymbol(walker, value) ||
    isConstant(walker, name, value) ||
    hasFunctions(walker, value) ||
    owner < 0
  ) {
    const type = walker.expression(value);
    const definition = walker.define(name, "constant", nameNode, whole, {
      ...options,
      type: isInformative(type) ? type : "",
    });
    walker.scopes.enter("block", definition >= 0 ? definition : undefined);
    if (walker.type(value) === "object") objectMembers(walker, value);
    else walker.visit(value);
    walker.scopes.leave();
  } else {
    walker.visit(value);
    holdLater(walker, owner, name, nameNode, walker.expression(value));
  }
};

/** The properties of an object literal that is the value of the current definition. */
export const objectMembers = (walker: Walker, node: number): void => {
  const owner = walker.scopes.definition;
  for (const part of walker.children(node)) {
    const key = walker.field(part, "key");
    switch (walker.type(part)) {
      case "method_definition":
        method(walker, part);
        break;
      case "shorthand_property_identifier":
        walker.visit(part);
        holdLater(walker, owner, walker.text(part), part, walker.expression(part));
        break;
      case "spread_element": {
        const spread = walker.tree.firstChild[part] ?? -1;
        walker.visit(spread);
        holdLater(walker, owner, SPREAD, part, walker.expression(spread));
        break;
      }
      case "pair":
        if (walker.type(key) === "computed_property_name") walker.visit(part);
        else
          defineProperty(walker, {
            owner,
            name: memberName(walker, key),
            nameNode: key,
            whole: part,
            value: walker.field(part, "value"),
          });
        break;
      default:
        walker.visit(part);
    }
  }
};

/** Steps between an object and what it is the value of: `return defineTool({ … } as const)`. */
const WRAPPERS = new Set([
  "parenthesized_expression",
  "as_expression",
  "satisfies_expression",
  "arguments",
  "call_expression",
]);
const OWNERS = new Set([
  "return_statement",
  "variable_declarator",
  "export_statement",
  "assignment_expression",
]);

/** Is the object the value of a definition or the result of a function: then its functions are members of that. */
const isOwned = (walker: Walker, node: number): boolean => {
  const { parent } = walker.tree;
  let above = parent[node] ?? -1;
  while (WRAPPERS.has(walker.type(above))) above = parent[above] ?? -1;
  if (OWNERS.has(walker.type(above))) return true;
  return walker.type(above) === "arrow_function";
};

export const objectLiteral: Handler = (walker, node) => {
  if (walker.scopes.definition >= 0 && isOwned(walker, node)) {
    objectMembers(walker, node);
    return;
  }
  for (const part of walker.children(node))
    if (walker.type(part) === "method_definition") functionBody(walker, part, -1);
    else walker.visit(part);
};

export const hasFunctions = (walker: Walker, object: number): boolean => {
  if (walker.type(object) !== "object") return false;
  for (const part of walker.children(object)) {
    const value = walker.field(part, "value");
    if (walker.type(part) === "method_definition" || isFunction(walker, value) || isSymbol(walker, value))
      return true;
  }
  return false;
};

/**
 * A local object whose properties hold functions of this file (`const server = { listen, close }`) is a symbol as one
 * with functions of its own is. Other objects are only data.
 */
export const defineIfHolder = (walker: Walker, name: number, object: number, scope: number): void => {
  if (walker.type(object) !== "object" || walker.tree.firstChild[object] === undefined) return;
  const held = walker.children(object).flatMap((part) => {
    const isPair = walker.type(part) === "pair";
    if (!isPair && walker.type(part) !== "shorthand_property_identifier") return [];
    const value = isPair ? walker.field(part, "value") : part;
    const kind = walker.type(value);
    if (kind !== "identifier" && kind !== "shorthand_property_identifier") return [];
    return [{ part, key: isPair ? walker.field(part, "key") : part, value: walker.text(value) }];
  });
  if (held.length === 0) return;
  walker.later(() => {
    const { scopes } = walker;
    const isFunctionOrClass = (value: string): boolean => {
      const meaning = scopes.meaning(value, scopes.current);
      const kind = typeof meaning === "object" ? walker.kindOf(meaning.definition) : undefined;
      return kind === "function" || kind === "class";
    };
    if (!held.some(({ value }) => isFunctionOrClass(value))) return;
    const definition = walker.define(walker.text(name), "constant", name, object, { scope });
    for (const { part, key, value } of held)
      if (scopes.meaning(value, scopes.current) !== "local")
        walker.define(memberName(walker, key), "alias", part, part, {
          parent: definition,
          scope: -1,
          type: value,
        });
  });
};
