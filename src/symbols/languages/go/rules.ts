import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Rules, Walker } from "../../extract/walker.ts";
import { bindName, block, firstOf, refersTo, skip } from "../../rules/handlers.ts";
import { callOf, expressionOf, memberOf, type NodeTypes, use } from "../../rules/uses.ts";
import { writtenType } from "../../rules/written-type.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier"]),
  members: {
    selector_expression: { object: "operand", name: "field" },
    qualified_type: { object: "package", name: "name" },
  },
  wrappers: new Set(["parenthesized_expression", "unary_expression", "expression_list"]),
  calls: { call_expression: { function: "function" } },
  creations: { composite_literal: "type" },
  literals: new Set(
    `int_literal float_literal interpreted_string_literal raw_string_literal rune_literal true false nil
    binary_expression`.split(/\s+/),
  ),
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
  const text = walker.text(name);
  const definition = walker.define(text, "function", name, node, {
    exported: isExported(text),
    type: resultOf(walker, node),
  });
  signature(walker, node, definition);
};

/** A method is declared outside of its type, perhaps in another file of the folder. */
const methodDeclaration: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const text = walker.text(name);
  const receiver = firstOf(walker, walker.field(node, "receiver"));
  const owner = /[A-Za-z_]\w*/.exec(walker.text(walker.field(receiver, "type")))?.[0] ?? "";
  const definition = walker.define(text, "method", name, node, {
    exported: isExported(text),
    type: resultOf(walker, node),
    scope: -1,
    attachedTo: owner,
  });
  signature(walker, node, definition);
};

const typeSpec: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const text = walker.text(name);
  const type = walker.field(node, "type");
  const kind =
    walker.type(type) === "struct_type"
      ? "class"
      : walker.type(type) === "interface_type"
        ? "interface"
        : "type";
  const definition = walker.define(text, kind, name, node, {
    exported: isExported(text),
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
    const text = walker.text(child);
    if (walker.scopes.kind === "class")
      walker.define(text, "field", child, node, { exported: isExported(text), type: written, scope: -1 });
  }
  if (hasName || walker.scopes.kind !== "class") {
    walker.visit(type);
    return;
  }
  // The struct has the members of an embedded type.
  const last = /(\w+)\W*$/.exec(walker.text(type))?.[1] ?? "";
  const packaged = /^\*?(\w+)\./.exec(walker.text(type))?.[1];
  walker.refer(last, type, "inherit", packaged ?? "");
};

const methodElement: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const text = walker.text(name);
  const definition = walker.define(text, "method", name, node, {
    exported: isExported(text),
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
  for (const [index, name] of names.entries()) {
    let type = written;
    if (type === "") {
      const value = values.length === names.length ? values[index] : index === 0 ? values[0] : undefined;
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
  for (const [index, name] of names.entries())
    bindName(walker, name, index === 1 ? step(walker.expression(right), "[]") : UNKNOWN, node);
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

export const rules: Rules = {
  membersVisible: false,
  outerNames: true,
  expression: expressionOf(nodeTypes),
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
    ["call_expression", callOf(nodeTypes)],
    ["selector_expression", memberOf(nodeTypes)],
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
          use(nodeTypes, walker, target, "write");
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
