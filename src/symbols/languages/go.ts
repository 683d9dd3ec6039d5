import { type Expression, step, UNKNOWN } from "../extract/expression.ts";
import type { Handler, Rules, Walker } from "../extract/walker.ts";
import type { ConfigFiles } from "../project/config-files.ts";
import type { ProjectFiles, ResolveSource } from "../project/family.ts";
import { joinPath } from "../project/paths.ts";
import {
  bindName,
  block,
  callOf,
  expressionOf,
  firstOf,
  refersTo,
  skip,
  use,
  useMember,
  type Vocabulary,
} from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { writtenType } from "../rules/written-type.ts";

const words: Vocabulary = {
  names: new Set(["identifier"]),
  members: {
    selector_expression: { object: "operand", name: "field" },
    qualified_type: { object: "package", name: "name" },
  },
  wrappers: new Set(["parenthesized_expression", "unary_expression", "expression_list"]),
  calls: { call_expression: { function: "function" } },
  creations: { composite_literal: "type" },
  literals: new Set([
    "int_literal",
    "float_literal",
    "interpreted_string_literal",
    "raw_string_literal",
    "rune_literal",
    "true",
    "false",
    "nil",
    "binary_expression",
  ]),
  self: new Set(),
  parent: new Set(),
  casts: { type_assertion_expression: "type", type_conversion_expression: "type" },
  elements: { index_expression: "operand", slice_expression: "operand" },
};

const isExported = (name: string): boolean => /^\p{Lu}/u.test(name);

/** The first result, without pointer: `(*Item, error)`. */
const resultOf = (walker: Walker, node: number): Expression => {
  const result = walker.field(node, "result");
  if (walker.type(result) !== "parameter_list") return result < 0 ? "" : writtenType(walker.text(result));
  const first = firstOf(walker, result);
  return writtenType(walker.text(walker.field(first, "type")));
};

const signature = (walker: Walker, node: number, definition: number): void => {
  walker.scopes.enter("function", definition >= 0 ? definition : undefined);
  for (const child of walker.children(node))
    if (!/^(?:identifier|field_identifier)$/.test(walker.type(child))) walker.visit(child);
  walker.scopes.leave();
};

const functionDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const word = walker.text(name);
  const definition = walker.define(word, "function", name, node, {
    exported: isExported(word),
    type: resultOf(walker, node),
  });
  signature(walker, node, definition);
};

/** A method stands beside its type, maybe in another file of the folder. */
const methodDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const word = walker.text(name);
  const receiver = firstOf(walker, walker.field(node, "receiver"));
  const owner = /[A-Za-z_]\w*/.exec(walker.text(walker.field(receiver, "type")))?.[0] ?? "";
  const definition = walker.define(word, "method", name, node, {
    exported: isExported(word),
    type: resultOf(walker, node),
    scope: -1,
    attachedTo: owner,
  });
  signature(walker, node, definition);
};

const typeSpec: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const word = walker.text(name);
  const type = walker.field(node, "type");
  const kind =
    walker.type(type) === "struct_type"
      ? "class"
      : walker.type(type) === "interface_type"
        ? "interface"
        : "type";
  const definition = walker.define(word, kind, name, node, {
    exported: isExported(word),
    type: kind === "type" ? writtenType(walker.text(type)) : "",
  });
  walker.scopes.enter("class", definition >= 0 ? definition : undefined);
  walker.visitField(node, "type_parameters");
  walker.visit(type);
  walker.scopes.leave();
};

const fieldDeclaration: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const written = writtenType(walker.text(type));
  let hasName = false;
  for (const child of walker.children(node)) {
    if (walker.type(child) !== "field_identifier") continue;
    hasName = true;
    const word = walker.text(child);
    if (walker.scopes.kind === "class")
      walker.define(word, "field", child, node, { exported: isExported(word), type: written, scope: -1 });
  }
  if (hasName || walker.scopes.kind !== "class") {
    walker.visit(type);
    return;
  }
  // An embedded type gives its members to the struct.
  const last = /(\w+)\W*$/.exec(walker.text(type))?.[1] ?? "";
  const packaged = /^\*?(\w+)\./.exec(walker.text(type))?.[1];
  walker.refer(last, type, "inherit", packaged ?? "");
};

const methodElement: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const word = walker.text(name);
  const definition = walker.define(word, "method", name, node, {
    exported: isExported(word),
    type: resultOf(walker, node),
    scope: -1,
  });
  signature(walker, node, definition);
};

const parameterDeclaration: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  for (const child of walker.children(node))
    if (walker.type(child) === "identifier" && walker.tree.fieldName(child) === "name")
      walker.scopes.bindLocal(walker.text(child), writtenType(walker.text(type)));
  walker.visit(type);
};

const valuesOf = (walker: Walker, node: number): readonly number[] =>
  walker.type(node) === "expression_list" ? [...walker.children(node)] : node < 0 ? [] : [node];

/** `a, b := f()`: the first name has the first result. */
const bindAll = (
  walker: Walker,
  names: readonly number[],
  values: readonly number[],
  written: Expression,
  whole: number,
): void => {
  for (const [place, name] of names.entries()) {
    let type = written;
    if (type === "") {
      const value = values.length === names.length ? values[place] : place === 0 ? values[0] : undefined;
      type = value === undefined ? UNKNOWN : walker.expression(value);
    }
    bindName(walker, name, type, whole);
  }
};

const specification: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const value = walker.field(node, "value");
  const names = [...walker.children(node)].filter(
    (child) => walker.type(child) === "identifier" && walker.tree.fieldName(child) === "name",
  );
  bindAll(walker, names, valuesOf(walker, value), type < 0 ? "" : writtenType(walker.text(type)), node);
  walker.visit(type);
  walker.visit(value);
};

const shortDeclaration: Handler = (walker, node) => {
  const right = walker.field(node, "right");
  walker.visit(right);
  bindAll(walker, valuesOf(walker, walker.field(node, "left")), valuesOf(walker, right), "", node);
};

const range: Handler = (walker, node) => {
  const right = walker.field(node, "right");
  walker.visit(right);
  const names = valuesOf(walker, walker.field(node, "left"));
  for (const [place, name] of names.entries())
    bindName(walker, name, place === 1 ? step(walker.expression(right), "[]") : UNKNOWN, node);
};

const importSpec: Handler = (walker, node) => {
  const source = walker.text(walker.field(node, "path")).slice(1, -1);
  const alias = walker.text(walker.field(node, "name"));
  const last =
    source
      .replace(/\/v\d+$/, "")
      .split("/")
      .at(-1) ?? "";
  const local =
    alias === "." ? "*" : alias === "" ? last.replace(/^go-|[.-]go$/g, "").replace(/\.v\d+$/, "") : alias;
  walker.import({ source, name: alias === "." ? "*" : "", local: local === "_" ? "" : local }, node);
};

const rules: Rules = {
  membersVisible: false,
  outerNames: true,
  expression: expressionOf(words),
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["package_clause", (walker, node) => walker.setModule(walker.text(firstOf(walker, node)))],
    ["import_spec", importSpec],
    ["function_declaration", functionDeclaration],
    ["method_declaration", methodDeclaration],
    ["type_spec", typeSpec],
    ["type_alias", typeSpec],
    ["field_declaration", fieldDeclaration],
    ["method_elem", methodElement],
    ["method_spec", methodElement],
    ["parameter_declaration", parameterDeclaration],
    ["variadic_parameter_declaration", parameterDeclaration],
    ["const_spec", specification],
    ["var_spec", specification],
    ["short_var_declaration", shortDeclaration],
    ["range_clause", range],
    ["func_literal", (walker, node) => signature(walker, node, -1)],
    ["block", block],
    ["if_statement", block],
    ["for_statement", block],
    ["expression_switch_statement", block],
    ["type_switch_statement", block],
    ["call_expression", callOf(words)],
    [
      "selector_expression",
      (walker, node) => useMember(walker, node, { object: "operand", name: "field" }, "read"),
    ],
    [
      "qualified_type",
      (walker, node) => {
        const name = walker.field(node, "name");
        walker.refer(walker.text(name), name, "type", walker.text(walker.field(node, "package")));
      },
    ],
    [
      "assignment_statement",
      (walker, node) => {
        for (const target of valuesOf(walker, walker.field(node, "left")))
          use(words, walker, target, "write");
        walker.visitField(node, "right");
      },
    ],
    [
      "keyed_element",
      (walker, node) => {
        const key = firstOf(walker, firstOf(walker, node));
        const literal = walker.tree.parent[walker.tree.parent[node] ?? -1] ?? -1;
        const type = walker.text(walker.field(literal, "type"));
        if (walker.type(key) === "identifier" && /^[\w.]+$/.test(type))
          walker.refer(walker.text(key), key, "write", `<${type}>`);
        else walker.visit(firstOf(walker, node));
        walker.visit(walker.tree.nextSibling[firstOf(walker, node)] ?? -1);
      },
    ],
    [
      "type_parameter_declaration",
      (walker, node) => {
        for (const child of walker.children(node)) {
          if (walker.type(child) === "identifier") walker.scopes.bindLocal(walker.text(child), "");
          else walker.visit(child);
        }
      },
    ],
    ["label_name", skip],
    ["identifier", refersTo("read")],
    ["type_identifier", refersTo("type")],
  ]),
};

const moduleOf = (text: string, folder: string) => {
  const module = /^module\s+"?([^\s"]+)/m.exec(text)?.[1];
  return module === undefined ? undefined : { folder, module };
};

/** An import path means a folder: by the nearest go.mod, or by the longest end of the path that is a folder. */
const createPackages =
  (files: ProjectFiles, config: ConfigFiles): ResolveSource =>
  (from, source) => {
    const own = config.nearest(from.folder, "go.mod", moduleOf);
    const filesIn = (folder: string): readonly number[] =>
      files.inFolder.get(folder).filter((id) => files.file(id)?.family === from.family);
    if (own !== undefined && (source === own.module || source.startsWith(`${own.module}/`)))
      return filesIn(joinPath(own.folder, source.slice(own.module.length)));
    const parts = source.split("/");
    // A path without a dot in its first part is of the standard library.
    if (!(parts[0] ?? "").includes(".")) return [];
    for (let first = 1; first < parts.length; first++) {
      const found = filesIn(parts.slice(first).join("/"));
      if (found.length > 0) return found;
    }
    return own === undefined && parts.length <= 4 ? filesIn("") : [];
  };

export const go: SymbolLanguage = {
  ids: ["go"],
  rules,
  family: {
    name: "go",
    reach: "folder",
    createModules: createPackages,
    configFiles: /^go\.mod$/,
    hidesWildcards: true,
    methodsShareFolder: true,
  },
};
