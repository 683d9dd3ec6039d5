import type { ReferenceKind } from "../../contract.ts";
import { type Expression, step, UNKNOWN } from "../expression.ts";
import type { Handler, Rules, Walker } from "../walker.ts";
import { pythonExpression, pythonType } from "./python-expression.ts";

const first = (walker: Walker, node: number): number => walker.tree.firstChild[node] ?? -1;

const visibleName = (name: string): boolean => !name.startsWith("__") || name.endsWith("__");

const use = (walker: Walker, node: number, kind: ReferenceKind): void => {
  switch (walker.type(node)) {
    case "identifier":
      walker.refer(walker.text(node), node, kind);
      return;
    case "attribute": {
      const object = walker.field(node, "object");
      const attribute = walker.field(node, "attribute");
      walker.visit(object);
      walker.refer(walker.text(attribute), attribute, kind, walker.expression(object));
      return;
    }
    case "subscript":
      use(walker, walker.field(node, "value"), kind);
      for (const child of walker.children(node))
        if (walker.tree.fieldName(child) === "subscript") walker.visit(child);
      return;
    default:
      walker.visit(node);
  }
};

/** Whole definition with its decorators. */
const whole = (walker: Walker, node: number): number => {
  const above = walker.tree.parent[node] ?? -1;
  return walker.type(above) === "decorated_definition" ? above : node;
};

const decorators = (walker: Walker, node: number): readonly string[] => {
  const above = whole(walker, node);
  return above === node
    ? []
    : [...walker.children(above)].flatMap((child) =>
        walker.type(child) === "decorator" ? [walker.text(child)] : [],
      );
};

const functionDefinition: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const inClass = scopes.kind === "class";
  const words = decorators(walker, node);
  const isProperty = words.some((word) => /^@(?:functools\.)?(?:cached_)?property\b/.test(word));
  const owner = scopes.definition;
  const definition = walker.define(
    walker.text(name),
    inClass ? (isProperty ? "field" : "method") : "function",
    name,
    whole(walker, node),
    { exported: scopes.kind !== "function" && visibleName(walker.text(name)) },
  );
  const result = walker.field(node, "return_type");
  // Annotations and defaults are part of the function, but see the names around it.
  scopes.enter("block", definition >= 0 ? definition : undefined);
  walker.visit(result);
  const parameters = walker.field(node, "parameters");
  for (const parameter of walker.children(parameters)) {
    walker.visitField(parameter, "type");
    walker.visitField(parameter, "value");
  }
  scopes.leave();
  scopes.enter("function", definition >= 0 ? definition : undefined);
  let place = 0;
  const isStatic = words.some((word) => /^@staticmethod\b/.test(word));
  for (const parameter of walker.children(parameters)) {
    const isReceiver = inClass && place++ === 0 && !isStatic && owner >= 0;
    bindParameter(walker, parameter, isReceiver ? "this" : undefined);
  }
  if (result >= 0) walker.setType(definition, pythonType(walker, result));
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
      const target = name >= 0 ? name : first(walker, node);
      const type = pythonType(walker, walker.field(node, "type"));
      if (walker.type(target) === "identifier") scopes.bindLocal(walker.text(target), receiver ?? type);
      else bindParameter(walker, target, undefined);
      return;
    }
    case "list_splat_pattern":
    case "dictionary_splat_pattern":
    case "tuple_pattern":
      for (const child of walker.children(node)) bindParameter(walker, child, undefined);
      return;
  }
};

const classDefinition: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const definition = walker.define(walker.text(name), "class", name, whole(walker, node), {
    exported: scopes.kind !== "function",
  });
  scopes.enter("class", definition >= 0 ? definition : undefined);
  const bases = walker.field(node, "superclasses");
  if (bases >= 0)
    for (const base of walker.children(bases)) {
      if (walker.type(base) === "keyword_argument") walker.visitField(base, "value");
      else use(walker, base, "inherit");
    }
  walker.visitField(node, "body");
  scopes.leave();
};

/** Binds what stands left of `=`, `for`, `as`: a symbol at the top of a file or class, a local in a function. */
const bindTarget = (walker: Walker, node: number, value: Expression, statement: number): void => {
  const { scopes } = walker;
  switch (walker.type(node)) {
    case "identifier": {
      const name = walker.text(node);
      const scope = scopes.nearest("function", "class", "file");
      const kind = scopes.kindOf(scope);
      if (kind === "function") {
        const meaning = scopes.meaning(name, scopes.current);
        // `global name` was said before.
        if (typeof meaning === "object" && isGlobal(walker, name)) walker.refer(name, node, "write");
        else scopes.bindLocal(name, value, scope);
        return;
      }
      const known = scopes.meaning(name, scopes.current);
      if (typeof known === "object" && walker.kindOf(known.definition) !== undefined) {
        walker.setType(known.definition, value);
        return;
      }
      const isConstant = /^[A-Z_][A-Z\d_]*$/.test(name);
      walker.define(
        name,
        kind === "class" ? "field" : isConstant ? "constant" : "variable",
        node,
        statement,
        {
          exported: true,
          scope,
          type: value === UNKNOWN ? "" : value,
        },
      );
      return;
    }
    case "attribute": {
      const object = walker.field(node, "object");
      const attribute = walker.text(walker.field(node, "attribute"));
      const owner = ownerOf(walker);
      if (owner >= 0 && scopes.resolve(walker.expression(object), scopes.current, false) === "this") {
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
      return;
    }
    case "pattern_list":
    case "tuple_pattern":
    case "list_pattern":
    case "tuple":
    case "list":
      for (const child of walker.children(node)) bindTarget(walker, child, step(value, "[]"), statement);
      return;
    case "list_splat_pattern":
    case "parenthesized_expression":
    case "as_pattern_target":
      bindTarget(walker, first(walker, node), value, statement);
      return;
    default:
      walker.visit(node);
  }
};

const ownerOf = (walker: Walker): number => {
  let at = walker.scopes.definition;
  while (at >= 0 && walker.kindOf(at) !== "class") at = walker.parentOf(at);
  return at;
};

const globals = new WeakMap<Walker, Set<string>>();
const isGlobal = (walker: Walker, name: string): boolean => globals.get(walker)?.has(name) ?? false;

const assignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  const annotation = walker.field(node, "type");
  walker.visit(annotation);
  const value =
    annotation >= 0 ? pythonType(walker, annotation) : right >= 0 ? walker.expression(right) : UNKNOWN;
  bindTarget(walker, left, value, node);
  walker.visit(right);
};

const importStatement: Handler = (walker, node) => {
  for (const part of walker.children(node)) {
    if (walker.type(part) === "aliased_import")
      walker.import(
        {
          source: walker.text(walker.field(part, "name")),
          name: "",
          local: walker.text(walker.field(part, "alias")),
        },
        part,
      );
    else if (walker.type(part) === "dotted_name") {
      const source = walker.text(part).replace(/\s+/g, "");
      const head = source.split(".")[0] ?? "";
      // `import a.b` binds `a`; that `a.b` is loaded is a second thing.
      walker.import({ source: head, name: "", local: head }, part);
      if (head !== source) walker.import({ source, name: "", local: "" }, part);
    }
  }
};

const importFrom: Handler = (walker, node) => {
  const module = walker.field(node, "module_name");
  const source = walker.text(module).replace(/\s+/g, "");
  for (const part of walker.children(node)) {
    if (part === module) continue;
    const type = walker.type(part);
    if (type === "wildcard_import") walker.import({ source, name: "*", local: "*" }, part);
    else if (type === "aliased_import") {
      const name = walker.text(walker.field(part, "name"));
      walker.import({ source, name, local: walker.text(walker.field(part, "alias")) }, part);
    } else if (type === "dotted_name")
      walker.import({ source, name: walker.text(part), local: walker.text(part) }, part);
  }
};

const comprehension: Handler = (walker, node) => {
  walker.scopes.enter("function");
  // The clauses bind what the body before them uses.
  const parts = [...walker.children(node)];
  for (const part of parts) if (walker.type(part) === "for_in_clause") forIn(walker, part);
  for (const part of parts) if (walker.type(part) !== "for_in_clause") walker.visit(part);
  walker.scopes.leave();
};

const forIn: Handler = (walker, node) => {
  const right = walker.field(node, "right");
  walker.visit(right);
  bindTarget(walker, walker.field(node, "left"), step(walker.expression(right), "[]"), node);
};

const lambda: Handler = (walker, node) => {
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

const returnStatement: Handler = (walker, node) => {
  const value = first(walker, node);
  walker.visit(value);
  const { scopes } = walker;
  const around = scopes.definitionOf(scopes.nearest("function"));
  if (value >= 0 && around >= 0) walker.setType(around, walker.expression(value));
};

const decorator: Handler = (walker, node) => {
  const inner = first(walker, node);
  if (walker.type(inner) !== "call") {
    use(walker, inner, "decorate");
    return;
  }
  use(walker, walker.field(inner, "function"), "decorate");
  walker.visitField(inner, "arguments");
};

const asPattern: Handler = (walker, node) => {
  const value = first(walker, node);
  const target = walker.field(node, "alias");
  walker.visit(value);
  // `with open() as f`: what `__enter__` gives is mostly the object itself; `except E as e` an instance.
  const isExcept = walker.type(walker.tree.parent[node] ?? -1) === "except_clause";
  bindTarget(walker, target, isExcept ? pythonType(walker, value) : walker.expression(value), node);
};

const skip: Handler = () => undefined;

export const python: Rules = {
  membersVisible: false,
  outerNames: false,
  expression: pythonExpression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    [
      "identifier",
      (walker, node) => walker.refer(walker.text(node), node, inType(walker, node) ? "type" : "read"),
    ],
    ["attribute", (walker, node) => use(walker, node, inType(walker, node) ? "type" : "read")],
    ["keyword_argument", (walker, node) => walker.visitField(node, "value")],
    [
      "call",
      (walker, node) => {
        use(walker, walker.field(node, "function"), "call");
        walker.visitField(node, "arguments");
      },
    ],
    ["function_definition", functionDefinition],
    ["class_definition", classDefinition],
    ["decorator", decorator],
    ["assignment", assignment],
    [
      "augmented_assignment",
      (walker, node) => {
        use(walker, walker.field(node, "left"), "write");
        walker.visitField(node, "right");
      },
    ],
    [
      "named_expression",
      (walker, node) => {
        const value = walker.field(node, "value");
        bindTarget(walker, walker.field(node, "name"), walker.expression(value), node);
        walker.visit(value);
      },
    ],
    ["import_statement", importStatement],
    ["import_from_statement", importFrom],
    ["future_import_statement", skip],
    ["list_comprehension", comprehension],
    ["set_comprehension", comprehension],
    ["dictionary_comprehension", comprehension],
    ["generator_expression", comprehension],
    [
      "for_statement",
      (walker, node) => {
        forIn(walker, node);
        walker.visitField(node, "body");
        walker.visitField(node, "alternative");
      },
    ],
    ["lambda", lambda],
    ["return_statement", returnStatement],
    ["as_pattern", asPattern],
    [
      "global_statement",
      (walker, node) => {
        const names = globals.get(walker) ?? new Set<string>();
        for (const child of walker.children(node)) names.add(walker.text(child));
        globals.set(walker, names);
      },
    ],
    ["nonlocal_statement", skip],
    ["type_alias_statement", (walker, node) => typeAlias(walker, node)],
  ]),
};

const typeAlias: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  walker.define(walker.text(left), "type", left, node, { exported: true, type: pythonType(walker, right) });
  walker.visit(right);
};

const inType = (walker: Walker, node: number): boolean => {
  const above = walker.type(walker.tree.parent[node] ?? -1);
  return above === "type" || above === "union_type" || above === "generic_type" || above === "type_parameter";
};
