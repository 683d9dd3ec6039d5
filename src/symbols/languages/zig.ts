import { type Expression, FOREIGN, step, UNKNOWN } from "../extract/expression.ts";
import type { SymbolKind } from "../extract/file-symbols.ts";
import type { Handler, Rules, Walker } from "../extract/walker.ts";
import type { ProjectFiles, ResolveSource } from "../project/family.ts";
import { joinPath, nameOf } from "../project/paths.ts";
import { block, closure, firstOf, refersTo, skip, visitOthers } from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { callOf, expressionOf, type NodeTypes, use } from "../rules/uses.ts";
import { writtenType } from "../rules/written-type.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier"]),
  members: { field_expression: { object: "object", name: "member" } },
  // To the grammar, `*const a.B` is the member B of `*const a`: what stands before a type belongs to its first name.
  wrappers: new Set(
    `parenthesized_expression try_expression catch_expression unary_expression dereference_expression
    null_coercion_expression await_expression pointer_type slice_type nullable_type`.split(/\s+/),
  ),
  calls: { call_expression: { function: "function" } },
  creations: {},
  literals: new Set("string multiline_string integer float boolean character".split(" ")),
  self: new Set(),
  parent: new Set(),
  casts: {},
  elements: { index_expression: "object" },
};

const CONTAINERS: Readonly<Record<string, SymbolKind>> = {
  struct_declaration: "class",
  union_declaration: "class",
  opaque_declaration: "class",
  enum_declaration: "enum",
  error_set_declaration: "enum",
};

const containerKind = (walker: Walker, node: number): SymbolKind | undefined => CONTAINERS[walker.type(node)];

/** `@import("…")`, `@This()`: the name after the sign, empty for anything else. */
const builtinName = (walker: Walker, node: number): string =>
  walker.text(walker.child(node, "builtin_identifier")).slice(1);

const commonExpression = expressionOf(nodeTypes);

/** A value of the type that a node names: `*const T`, `?T`, `!T`, `[]T`, `T(u8)`, `@This()`. */
const instanceAt = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "error_union_type":
      return instanceAt(walker, walker.children(node).at(-1) ?? -1);
    case "call_expression":
      return instanceAt(walker, walker.field(node, "function"));
    case "builtin_type":
      return FOREIGN;
    default: {
      const text = walker.text(node);
      return /^[?*\sconst]*@This\(\)$/.test(text) ? "this" : writtenType(text.replace(/\[[^\]]*\]/g, "[]"));
    }
  }
};

const expression = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "struct_initializer":
      return instanceAt(walker, firstOf(walker, node));
    case "builtin_function":
      return builtinName(walker, node) === "This" ? "this" : UNKNOWN;
    case "array_type":
      return walker.expression(walker.children(node).at(-1) ?? -1);
    // `.init`, `.{ … }`: of a type that the place expects.
    case "field_expression":
      return walker.field(node, "object") < 0 ? UNKNOWN : commonExpression(walker, node);
    default:
      return commonExpression(walker, node);
  }
};

const isPublic = (walker: Walker, node: number): boolean => /^(?:pub|export)\b/.test(walker.text(node));

/** The members of `struct { … }`, as those of the definition that holds it. */
const containerBody = (walker: Walker, node: number, definition: number): void => {
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  const isEnum = containerKind(walker, node) === "enum";
  for (const child of walker.children(node)) {
    const name = walker.type(child) === "container_field" ? walker.field(child, "name") : isEnum ? child : -1;
    if (name < 0 || !["identifier", "container_field"].includes(walker.type(child))) {
      walker.visit(child);
      continue;
    }
    const type = walker.field(child, "type");
    walker.define(walker.text(name), isEnum ? "constant" : "field", name, child, {
      exported: true,
      scope: -1,
      type: isEnum ? "this" : instanceAt(walker, type),
    });
    if (child !== name) visitOthers(walker, child, name);
  }
  walker.scopes.leave();
};

const importSource = (walker: Walker, node: number): string =>
  builtinName(walker, node) === "import"
    ? walker.text(walker.child(node, "arguments")).replace(/^\(\s*"|"\s*\)$/g, "")
    : "";

/** `const` and `var`; the grammar gives assignments the same type of node. */
const declaration: Handler = (walker, node) => {
  const [name = -1] = walker.children(node);
  const type = walker.field(node, "type");
  const last = walker.children(node).at(-1) ?? -1;
  const value = last === name || last === type ? -1 : last;
  if (!/^(?:\w+\s+)*?(?:const|var)\s/.test(walker.text(node))) {
    use(nodeTypes, walker, name, "write");
    visitOthers(walker, node, name);
    return;
  }
  const { scopes } = walker;
  const text = walker.text(name);
  const source = importSource(walker, value);
  if (source !== "") {
    walker.import({ source, name: "", local: text }, node);
    return;
  }
  const kind = containerKind(walker, value);
  const known = type >= 0 ? instanceAt(walker, type) : walker.expression(value);
  const isLocal = scopes.kindOf(scopes.nearest("function", "class", "file")) === "function";
  if (kind !== undefined) {
    const definition = walker.define(text, kind, name, node, { exported: isPublic(walker, node) });
    containerBody(walker, value, definition);
    return;
  }
  if (isLocal || builtinName(walker, value) === "This") scopes.bindLocal(text, known);
  else
    walker.define(text, /^(?:\w+\s+)*?var\s/.test(walker.text(node)) ? "variable" : "constant", name, node, {
      exported: isPublic(walker, node),
      type: known === UNKNOWN ? "" : known,
    });
  visitOthers(walker, node, name);
};

const functionDeclaration: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const definition = walker.define(
    walker.text(name),
    scopes.kind === "class" ? "method" : "function",
    name,
    node,
    { exported: isPublic(walker, node) },
  );
  const result = walker.field(node, "type");
  scopes.enter("function", definition >= 0 ? definition : undefined);
  // A function that returns a type stands for that type: its members are those of the container that it returns.
  walker.setType(definition, instanceAt(walker, result));
  visitOthers(walker, node, name);
  scopes.leave();
};

const parameter: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.scopes.bindLocal(walker.text(name), instanceAt(walker, walker.field(node, "type")));
  visitOthers(walker, node, name);
};

/** `return struct { … }` of a function that makes a type. */
const returned: Handler = (walker, node) => {
  const value = firstOf(walker, node);
  const definition = walker.scopes.definitionOf(walker.scopes.nearest("function"));
  if (containerKind(walker, value) !== undefined) containerBody(walker, value, definition);
  else walker.visitChildren(node);
};

/**
 * `for (list) |item|`, `if (value) |some|`, `while (next()) |some|`: what is between the bars has the value's type. After
 * `catch` and `else` it is the error.
 */
const captures: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const isLoop = walker.type(node) === "for_statement" || walker.type(node) === "for_expression";
  let isError = walker.type(node) === "catch_expression";
  const values: number[] = [];
  for (const child of walker.children(node)) {
    if (walker.type(child) !== "payload") {
      values.push(child);
      walker.visit(child);
      continue;
    }
    for (const [index, bound] of walker.children(child).entries()) {
      const value = isError ? UNKNOWN : walker.expression(values[index] ?? -1);
      walker.scopes.bindLocal(walker.text(bound), isLoop && !isError ? step(value, "[]") : value);
    }
    isError = true;
  }
  walker.scopes.leave();
};

/** `T{ .name = value }`: the fields of a known type. */
const initializer: Handler = (walker, node) => {
  const type = firstOf(walker, node);
  walker.visit(type);
  const instance = instanceAt(walker, type);
  for (const entry of walker.children(walker.child(node, "initializer_list"))) {
    const left = walker.field(entry, "left");
    if (walker.type(left) !== "field_expression" || walker.field(left, "object") >= 0) {
      walker.visit(entry);
      continue;
    }
    const name = walker.field(left, "member");
    walker.refer(walker.text(name), name, "write", instance);
    walker.visitField(entry, "right");
  }
};

const rules: Rules = {
  membersVisible: true,
  outerNames: false,
  expression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["string", skip],
    ["variable_declaration", declaration],
    ["function_declaration", functionDeclaration],
    ["parameter", parameter],
    ["test_declaration", closure],
    ["return_expression", returned],
    ["struct_declaration", (walker, node) => containerBody(walker, node, -1)],
    ["union_declaration", (walker, node) => containerBody(walker, node, -1)],
    ["block", block],
    ["for_statement", captures],
    ["for_expression", captures],
    ["if_statement", captures],
    ["if_expression", captures],
    ["while_statement", captures],
    ["while_expression", captures],
    ["switch_case", captures],
    ["catch_expression", captures],
    ["call_expression", callOf(nodeTypes)],
    ["struct_initializer", initializer],
    [
      "field_expression",
      (walker, node) => {
        // `.name`: a field or value of a type that only its context knows.
        if (walker.field(node, "object") >= 0) use(nodeTypes, walker, node, "read");
      },
    ],
    ["break_label", skip],
    ["block_label", skip],
    [
      "identifier",
      (walker, node) => refersTo(walker.tree.fieldName(node) === "type" ? "type" : "read")(walker, node),
    ],
  ]),
};

/** A path names a file; a bare name is a module of the build, whose root file usually has its name. */
const createModules =
  (files: ProjectFiles): ResolveSource =>
  (from, source) => {
    if (source.endsWith(".zig")) {
      const file = files.byPath(joinPath(from.folder, source));
      return file === undefined ? [] : [file.id];
    }
    const [root] = files.byStem
      .get(nameOf(source))
      .flatMap((id) => files.file(id) ?? [])
      .sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
    return root === undefined ? [] : [root.id];
  };

export const zig: SymbolLanguage = {
  ids: ["zig"],
  rules,
  family: { name: "zig", reach: "file", createModules, hidesUnexported: true },
};
