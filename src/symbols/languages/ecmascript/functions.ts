import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";
import { type WrittenTypes, writtenTypes } from "./jsdoc.ts";
import { bindPattern } from "./patterns.ts";
import { typeOf } from "./types.ts";

const FUNCTIONS = new Set([
  "arrow_function",
  "function_expression",
  "function",
  "generator_function",
  "function_declaration",
  "generator_function_declaration",
  // `{ get () {} }` as a property descriptor.
  "method_definition",
]);

export const isFunction = (walker: Walker, node: number): boolean => FUNCTIONS.has(walker.type(node));

/** Methods of the built-in collections that pass each element to their callback, and as which parameter. */
const ELEMENT_AT: ReadonlyMap<string, number> = new Map([
  ..."map filter forEach find findLast findIndex some every flatMap sort toSorted"
    .split(" ")
    .map((name) => [name, 0] as const),
  ["reduce", 1],
]);

/** The context of a function determines the types of its parameters: `items.map((item) => …)`, `const f: Handler = (walker) => …`. */
const givenByCaller = (walker: Walker, node: number, index: number): Expression => {
  const { parent } = walker.tree;
  const list = parent[node] ?? -1;
  const call = parent[list] ?? -1;
  const called = walker.type(list) === "arguments" ? walker.field(call, "function") : -1;
  if (walker.type(called) === "member_expression") {
    const name = walker.text(walker.field(called, "property"));
    const at = ELEMENT_AT.get(name);
    const sorts = name === "sort" || name === "toSorted";
    const owner = walker.field(called, "object");
    if (name === "then") return index === 0 ? walker.expression(owner) : UNKNOWN;
    if (at !== undefined)
      return at === index || (sorts && index === 1) ? step(walker.expression(owner), "[]") : UNKNOWN;
  }
  const isMethod = walker.type(node) === "method_definition";
  const context = isMethod
    ? step(expectedOf(walker, list, MAX_CLIMB), `.${walker.text(walker.field(node, "name"))}`)
    : expectedOf(walker, node, MAX_CLIMB);
  return step(context, `^${index}`);
};

const MAX_CLIMB = 12;

/** The type that the context of an expression expects. */
const expectedOf = (walker: Walker, node: number, climb: number): Expression => {
  const { parent } = walker.tree;
  const above = parent[node] ?? -1;
  if (climb === 0 || above < 0) return UNKNOWN;
  switch (walker.type(above)) {
    case "variable_declarator":
    case "public_field_definition": {
      const annotation = walker.field(above, "type");
      return annotation < 0 ? UNKNOWN : typeOf(walker, annotation);
    }
    case "arguments": {
      const called = walker.field(parent[above] ?? -1, "function");
      const index = walker.children(above).indexOf(node);
      return called < 0 ? UNKNOWN : step(walker.expression(called), `^${index}`);
    }
    case "pair":
      return step(
        expectedOf(walker, parent[above] ?? -1, climb - 1),
        `.${walker.text(walker.field(above, "key"))}`,
      );
    case "array":
      return step(expectedOf(walker, above, climb - 1), "[]");
    case "parenthesized_expression":
    case "ternary_expression":
      return expectedOf(walker, above, climb - 1);
    case "satisfies_expression":
      return typeOf(walker, walker.tree.nextSibling[node] ?? -1);
    case "arrow_function":
      return resultExpected(walker, above, climb);
    case "return_statement": {
      let around = parent[above] ?? -1;
      for (let hops = 0; hops < MAX_CLIMB && around >= 0 && walker.field(around, "parameters") < 0; hops++)
        around = parent[around] ?? -1;
      return resultExpected(walker, around, climb);
    }
    default:
      return UNKNOWN;
  }
};

const resultExpected = (walker: Walker, node: number, climb: number): Expression => {
  const result = walker.field(node, "return_type");
  return result >= 0 ? typeOf(walker, result) : step(expectedOf(walker, node, climb - 1), "()");
};

/** Written types of the parameters of a function or of a type of functions. */
export const parameterTypes = (walker: Walker, node: number): readonly Expression[] => {
  const list = walker.field(node, "parameters");
  if (list < 0) return [];
  return walker
    .children(list)
    .filter((child) => walker.type(child) !== "comment")
    .map((child) => {
      const annotation = walker.field(child, "type");
      return annotation < 0 ? UNKNOWN : typeOf(walker, annotation);
    });
};

/** `store = defaultStore` and `...stores` have the name of their first part. */
const nameOfParameter = (walker: Walker, node: number): string =>
  walker.type(node) === "identifier" ? walker.text(node) : walker.text(walker.tree.firstChild[node] ?? -1);

const bindParameter = (
  walker: Walker,
  node: number,
  callback: number,
  index: number,
  types: WrittenTypes | undefined,
): void => {
  const { scopes } = walker;
  const scope = scopes.current;
  const kind = walker.type(node);
  if (kind !== "required_parameter" && kind !== "optional_parameter") {
    const written = types?.parameter(nameOfParameter(walker, node)) ?? UNKNOWN;
    bindPattern(walker, node, written === UNKNOWN ? givenByCaller(walker, callback, index) : written, scope);
    return;
  }
  const pattern = walker.field(node, "pattern");
  const annotation = walker.field(node, "type");
  const value = walker.field(node, "value");
  let type: Expression = UNKNOWN;
  if (annotation >= 0) type = typeOf(walker, annotation);
  else if (value >= 0) type = walker.expression(value);
  else type = givenByCaller(walker, callback, index);
  // `...rest: Store[]`
  bindPattern(walker, pattern, type, scope);
  if (walker.child(node, "accessibility_modifier", "override_modifier") >= 0 || isReadonly(walker, node)) {
    const owner = walker.parentOf(scopes.definition);
    if (walker.kindOf(owner) === "class" && walker.type(pattern) === "identifier")
      walker.define(walker.text(pattern), "field", pattern, node, {
        parent: owner,
        scope: -1,
        type,
        exported: true,
      });
  }
  walker.visit(annotation);
  walker.visit(value);
  for (const child of walker.children(node)) if (walker.type(child) === "decorator") walker.visit(child);
};

const isReadonly = (walker: Walker, node: number): boolean =>
  /^readonly\s/.test(walker.text(node).slice(0, 12));

/** Parameters, written result and body of a function, in a scope of its own. */
export const functionBody = (walker: Walker, node: number, definition: number): void => {
  const { scopes } = walker;
  const types = writtenTypes(walker, node);
  scopes.enter("function", definition >= 0 ? definition : undefined);
  walker.visitField(node, "type_parameters");
  const single = walker.field(node, "parameter");
  if (single >= 0) bindPattern(walker, single, givenByCaller(walker, node, 0), scopes.current);
  const list = walker.field(node, "parameters");
  let index = 0;
  if (list >= 0)
    for (const parameter of walker.children(list)) {
      if (walker.type(parameter) === "comment") continue;
      bindParameter(walker, parameter, node, index++, types);
    }
  if (definition >= 0) walker.setParameters(definition, parameterTypes(walker, node));
  const result = walker.field(node, "return_type");
  if (result >= 0) {
    if (definition >= 0) walker.setType(definition, typeOf(walker, result));
    walker.visit(result);
  }
  if (definition >= 0 && types !== undefined) walker.setType(definition, types.result);
  const body = walker.field(node, "body");
  if (body >= 0) {
    const isBlock = walker.type(body) === "statement_block";
    if (isBlock) walker.visitChildren(body);
    else walker.visit(body);
    if (!isBlock && definition >= 0) walker.setType(definition, walker.expression(body));
  }
  scopes.leave();
};

export const returnStatement = (walker: Walker, node: number): void => {
  const value = walker.tree.firstChild[node] ?? -1;
  walker.visit(value);
  const { scopes } = walker;
  const around = scopes.definitionOf(scopes.nearest("function", "class"));
  // A callback without a name of its own is inside its definition but does not return for it.
  const owner = scopes.definitionOf(scopes.parentOf(scopes.nearest("function", "class")));
  if (value >= 0 && around >= 0 && owner !== around && !isFunction(walker, value))
    walker.setType(around, walker.expression(value));
};
