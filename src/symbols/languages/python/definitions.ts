import { collectionOf, type Expression, step } from "../../extract/expression.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { annotation } from "./annotations.ts";
import { pythonType } from "./types.ts";
import { firstPart, parts, use } from "./use.ts";

const visibleName = (name: string): boolean => !name.startsWith("__") || name.endsWith("__");

/** Methods whose first parameter is the class, without a decorator to say so. */
const OF_CLASS = new Set(["__new__", "__init_subclass__", "__class_getitem__"]);

/** Whole definition with its decorators. */
const whole = (walker: Walker, node: number): number => {
  const above = walker.tree.parent[node] ?? -1;
  return walker.type(above) === "decorated_definition" ? above : node;
};

const decoratorsOf = (walker: Walker, node: number): readonly string[] => {
  const above = whole(walker, node);
  return above === node
    ? []
    : walker
        .children(above)
        .flatMap((child) => (walker.type(child) === "decorator" ? [walker.text(child)] : []));
};

const isInFunction = ({ scopes }: Walker): boolean =>
  scopes.kindOf(scopes.nearest("function", "class", "file")) === "function";

/** What the first parameter of a method is: the instance, the class, or nothing special. */
const receiverOf = (name: string, decorators: readonly string[], owner: number): Expression | undefined => {
  if (owner < 0 || decorators.some((decorator) => /^@staticmethod\b/.test(decorator))) return undefined;
  const isClass =
    OF_CLASS.has(name) ||
    decorators.some((decorator) => /^@(?:abc\.)?(?:abstract)?classmethod\b/.test(decorator));
  return isClass ? `#${owner}` : "this";
};

const resultOf = (walker: Walker, node: number, decorators: readonly string[]): Expression => {
  const type = pythonType(walker, node);
  // The annotation is the type that is yielded, which `with` binds.
  const isManager = decorators.some((decorator) =>
    /^@(?:contextlib\.)?(?:async)?contextmanager\b/.test(decorator),
  );
  return isManager ? step(type, "[]") : type;
};

export const functionDefinition: Handler = (walker, node) => {
  const { scopes } = walker;
  const nameNode = walker.field(node, "name");
  const name = walker.text(nameNode);
  const inClass = scopes.kind === "class";
  const decorators = decoratorsOf(walker, node);
  const isProperty = decorators.some((decorator) =>
    /^@(?:functools\.)?(?:cached_)?property\b/.test(decorator),
  );
  const owner = scopes.definition;
  const kind = inClass ? (isProperty ? "field" : "method") : "function";
  const definition = walker.define(name, kind, nameNode, whole(walker, node), {
    exported: !isInFunction(walker) && visibleName(name),
  });
  const result = walker.field(node, "return_type");
  // Annotations and defaults are part of the function, but see the names around it.
  scopes.enter("block", definition >= 0 ? definition : undefined);
  walker.visit(result);
  const parameters = parts(walker, walker.field(node, "parameters"));
  for (const parameter of parameters) {
    walker.visitField(parameter, "type");
    walker.visitField(parameter, "value");
  }
  scopes.leave();
  scopes.enter("function", definition >= 0 ? definition : undefined);
  const receiver = inClass ? receiverOf(name, decorators, owner) : undefined;
  for (const [index, parameter] of parameters.entries())
    bindParameter(walker, parameter, index === 0 ? receiver : undefined);
  if (result >= 0) walker.setType(definition, resultOf(walker, result, decorators));
  walker.visitField(node, "body");
  scopes.leave();
};

const bindParameter = (walker: Walker, node: number, receiver: Expression | undefined): void => {
  const { scopes } = walker;
  switch (walker.type(node)) {
    case "identifier":
      scopes.bindLocal(walker.text(node), receiver ?? "");
      return;
    case "default_parameter":
      scopes.bindLocal(
        walker.text(walker.field(node, "name")),
        walker.expression(walker.field(node, "value")),
      );
      return;
    case "typed_parameter":
    case "typed_default_parameter": {
      const name = walker.field(node, "name");
      const target = name >= 0 ? name : firstPart(walker, node);
      const type = pythonType(walker, walker.field(node, "type"));
      if (walker.type(target) === "identifier") scopes.bindLocal(walker.text(target), receiver ?? type);
      else scopes.bindLocal(walker.text(firstPart(walker, target)), collectionOf(type));
      return;
    }
    case "list_splat_pattern":
    case "dictionary_splat_pattern":
    case "tuple_pattern":
      for (const child of walker.children(node)) bindParameter(walker, child, undefined);
      return;
  }
};

export const lambda: Handler = (walker, node) => {
  walker.scopes.enter("function");
  const parameters = walker.field(node, "parameters");
  if (parameters >= 0)
    for (const parameter of walker.children(parameters)) {
      walker.visitField(parameter, "value");
      bindParameter(walker, parameter, undefined);
    }
  walker.visitField(node, "body");
  walker.scopes.leave();
};

export const classDefinition: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "class", name, whole(walker, node), {
    exported: !isInFunction(walker),
  });
  scopes.enter("class", definition >= 0 ? definition : undefined);
  const bases = walker.field(node, "superclasses");
  if (bases >= 0) for (const base of parts(walker, bases)) inherit(walker, base);
  walker.visitField(node, "body");
  scopes.leave();
};

const inherit: Handler = (walker, node) => {
  if (walker.type(node) === "keyword_argument") walker.visitField(node, "value");
  else if (walker.type(node) === "subscript") {
    use(walker, walker.field(node, "value"), "inherit");
    for (const part of parts(walker, node))
      if (walker.tree.fieldName(part) === "subscript") annotation(walker, part);
  } else use(walker, node, "inherit");
};

export const returnStatement: Handler = (walker, node) => {
  const value = firstPart(walker, node);
  walker.visit(value);
  const { scopes } = walker;
  const around = scopes.definitionOf(scopes.nearest("function"));
  if (value >= 0 && around >= 0) walker.setType(around, walker.expression(value));
};

export const decorator: Handler = (walker, node) => {
  const inner = firstPart(walker, node);
  if (walker.type(inner) !== "call") {
    use(walker, inner, "decorate");
    return;
  }
  use(walker, walker.field(inner, "function"), "decorate");
  walker.visitField(inner, "arguments");
};

export const typeAlias: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  walker.define(walker.text(left), "type", left, node, { exported: true, type: pythonType(walker, right) });
  walker.visit(right);
};
