import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { listExported } from "./imports.ts";
import { pythonType } from "./types.ts";
import { firstPart, ownerOf, parts, use } from "./use.ts";

const globals = new WeakMap<Walker, Set<string>>();
const isGlobal = (walker: Walker, name: string): boolean => globals.get(walker)?.has(name) ?? false;

export const globalStatement: Handler = (walker, node) => {
  const names = globals.get(walker) ?? new Set<string>();
  for (const child of walker.children(node)) names.add(walker.text(child));
  globals.set(walker, names);
};

const bindName = (walker: Walker, node: number, value: Expression, statement: number): void => {
  const { scopes } = walker;
  const name = walker.text(node);
  const scope = scopes.nearest("function", "class", "file");
  const kind = scopes.kindOf(scope);
  const known = scopes.meaning(name, scopes.current);
  if (kind === "function") {
    if (typeof known === "object" && isGlobal(walker, name)) walker.refer(name, node, "write");
    else scopes.bindLocal(name, value, scope);
    return;
  }
  if (typeof known === "object" && walker.kindOf(known.definition) !== undefined) {
    walker.setType(known.definition, value);
    return;
  }
  const isConstant = /^[A-Z_][A-Z\d_]*$/.test(name);
  walker.define(name, kind === "class" ? "field" : isConstant ? "constant" : "variable", node, statement, {
    exported: true,
    scope,
    type: value === UNKNOWN ? "" : value,
  });
};

const bindAttribute = (walker: Walker, node: number, value: Expression, statement: number): void => {
  const { scopes } = walker;
  const object = walker.field(node, "object");
  const attribute = walker.text(walker.field(node, "attribute"));
  const owner = ownerOf(walker);
  const holder = owner < 0 ? "" : scopes.resolve(walker.expression(object), scopes.current, false);
  if (holder === "this" || holder === `#${owner}`) {
    if (walker.member(owner, attribute) < 0) {
      walker.define(attribute, "field", walker.field(node, "attribute"), statement, {
        parent: owner,
        scope: -1,
        exported: true,
        type: value === UNKNOWN ? "" : value,
      });
      return;
    }
    walker.setType(walker.member(owner, attribute), value);
  }
  use(walker, node, "write");
};

/** Binds the targets of `=`, `for` and `as`: symbols at the top of a file or class, locals in a function. */
const bindTarget = (walker: Walker, node: number, value: Expression, statement: number): void => {
  switch (walker.type(node)) {
    case "identifier":
      bindName(walker, node, value, statement);
      return;
    case "attribute":
      bindAttribute(walker, node, value, statement);
      return;
    case "pattern_list":
    case "tuple_pattern":
    case "list_pattern":
    case "tuple":
    case "list":
      for (const child of parts(walker, node)) bindTarget(walker, child, step(value, "[]"), statement);
      return;
    case "list_splat_pattern":
    case "parenthesized_expression":
    case "as_pattern_target":
      bindTarget(walker, firstPart(walker, node), value, statement);
      return;
    default:
      walker.visit(node);
  }
};

export const assignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  const annotation = walker.field(node, "type");
  walker.visit(annotation);
  const value =
    annotation >= 0 ? pythonType(walker, annotation) : right >= 0 ? walker.expression(right) : UNKNOWN;
  bindTarget(walker, left, value, node);
  listExported(walker, left, right);
  walker.visit(right);
};

export const augmentedAssignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  use(walker, left, "write");
  listExported(walker, left, right);
  walker.visit(right);
};

export const namedExpression: Handler = (walker, node) => {
  const value = walker.field(node, "value");
  bindTarget(walker, walker.field(node, "name"), walker.expression(value), node);
  walker.visit(value);
};

const forIn: Handler = (walker, node) => {
  const right = walker.field(node, "right");
  walker.visit(right);
  bindTarget(walker, walker.field(node, "left"), step(walker.expression(right), "[]"), node);
};

export const forStatement: Handler = (walker, node) => {
  forIn(walker, node);
  walker.visitField(node, "body");
  walker.visitField(node, "alternative");
};

export const comprehension: Handler = (walker, node) => {
  walker.scopes.enter("function");
  // The clauses bind what the body before them uses.
  const all = walker.children(node);
  for (const part of all) if (walker.type(part) === "for_in_clause") forIn(walker, part);
  for (const part of all) if (walker.type(part) !== "for_in_clause") walker.visit(part);
  walker.scopes.leave();
};

export const asPattern: Handler = (walker, node) => {
  const value = firstPart(walker, node);
  const target = walker.field(node, "alias");
  walker.visit(value);
  // `with open() as f`: what `__enter__` gives is mostly the object itself; `except E as e` an instance.
  const isExcept = /^except/.test(walker.type(walker.tree.parent[node] ?? -1));
  bindTarget(walker, target, isExcept ? pythonType(walker, value) : walker.expression(value), node);
};

/** Name and type of `isinstance(name, Type)`, where the name is a local. */
const findNarrowed = (
  walker: Walker,
  node: number,
): readonly [name: string, type: Expression] | undefined => {
  const type = walker.type(node);
  if (type === "parenthesized_expression") return findNarrowed(walker, firstPart(walker, node));
  if (type === "boolean_operator")
    return / or /.test(walker.text(node)) ? undefined : findNarrowed(walker, walker.field(node, "left"));
  if (type !== "call" || walker.text(walker.field(node, "function")) !== "isinstance") return undefined;
  const [object = -1, given = -1] = parts(walker, walker.field(node, "arguments"));
  const name = walker.text(object);
  if (walker.type(object) !== "identifier") return undefined;
  if (walker.scopes.meaning(name, walker.scopes.current) !== "local") return undefined;
  const found = pythonType(walker, given);
  return found === UNKNOWN ? undefined : [name, found];
};

/** `if isinstance(a, Store)`: in what follows, `a` is one. */
export const ifClause: Handler = (walker, node) => {
  const condition = walker.field(node, "condition");
  const consequence = walker.field(node, "consequence");
  const known = findNarrowed(walker, condition);
  walker.visit(condition);
  if (known !== undefined) {
    walker.scopes.enter("block");
    walker.scopes.bindLocal(known[0], known[1]);
  }
  walker.visit(consequence);
  if (known !== undefined) walker.scopes.leave();
  const { firstChild, nextSibling } = walker.tree;
  for (let part = firstChild[node] ?? -1; part >= 0; part = nextSibling[part] ?? -1)
    if (part !== condition && part !== consequence) walker.visit(part);
};

export const assertStatement: Handler = (walker, node) => {
  const known = findNarrowed(walker, firstPart(walker, node));
  if (known !== undefined)
    walker.scopes.bindLocal(known[0], known[1], walker.scopes.nearest("function", "class", "file"));
  walker.visitChildren(node);
};
