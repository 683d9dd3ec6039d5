import { type Expression, step, UNKNOWN } from "../expression.ts";
import type { Handler, Rules, Walker } from "../walker.ts";
import {
  block,
  callOf,
  expressionOf,
  firstOf,
  pick,
  refersTo,
  skip,
  typeDefinition,
  use,
  useMember,
  type Vocabulary,
} from "./combine.ts";
import { writtenType } from "./written-type.ts";

const words: Vocabulary = {
  names: new Set(["identifier", "self", "type_identifier"]),
  members: {
    field_expression: { object: "value", name: "field" },
    scoped_identifier: { object: "path", name: "name" },
    scoped_type_identifier: { object: "path", name: "name" },
  },
  wrappers: new Set([
    "parenthesized_expression",
    "reference_expression",
    "try_expression",
    "await_expression",
    "unary_expression",
    "generic_function",
    "generic_type",
  ]),
  calls: { call_expression: { function: "function" } },
  creations: { struct_expression: "name" },
  literals: new Set([
    "string_literal",
    "integer_literal",
    "float_literal",
    "boolean_literal",
    "char_literal",
    "binary_expression",
    "raw_string_literal",
  ]),
  self: new Set(["self"]),
  parent: new Set(),
  casts: { type_cast_expression: "type" },
  elements: { index_expression: "value" },
};

const isPublic = (walker: Walker, _name: string, node: number): boolean =>
  walker.child(node, "visibility_modifier") >= 0;

const functionItem: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const word = walker.text(name);
  const owner = owners.get(walker)?.at(-1) ?? "";
  const inType = scopes.kind === "class";
  const result = walker.field(node, "return_type");
  const definition = walker.define(word, inType ? "method" : "function", name, node, {
    exported: inType || isPublic(walker, word, node),
    type: result < 0 ? "" : writtenType(walker.text(result)),
    ...(inType && owner !== "" ? { attachedTo: owner, scope: -1 } : {}),
  });
  scopes.enter("function", definition >= 0 ? definition : undefined);
  for (const child of walker.children(node)) if (child !== name) walker.visit(child);
  scopes.leave();
};

/** Types whose `impl` is open, outermost first. */
const owners = new WeakMap<Walker, string[]>();

const implItem: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const trait = walker.field(node, "trait");
  const owner = /(\w+)\s*(?:<.*)?$/s.exec(walker.text(type))?.[1] ?? "";
  const open = owners.get(walker) ?? [];
  owners.set(walker, open);
  walker.scopes.enter("class");
  walker.visitField(node, "type_parameters");
  if (trait >= 0) walker.refer(lastName(walker.text(trait)), trait, "type");
  walker.visit(type);
  open.push(owner);
  walker.visitField(node, "body");
  open.pop();
  walker.scopes.leave();
};

const lastName = (path: string): string => /(\w+)\s*(?:<.*)?$/s.exec(path)?.[1] ?? "";

const traitItem: Handler = (walker, node) => {
  const open = owners.get(walker) ?? [];
  owners.set(walker, open);
  open.push("");
  typeDefinition("interface", "name", isPublic)(walker, node);
  open.pop();
};

/** `use a::{b, c::D as E, f::*}`: one entry for each name. */
const useTree = (walker: Walker, node: number, prefix: string, exported: boolean): void => {
  const join = (path: string): string =>
    (prefix === "" ? path : path === "" ? prefix : `${prefix}::${path}`).replace(/\s+/g, "");
  const add = (path: string, local: string | undefined): void => {
    const cut = path.lastIndexOf("::");
    const name = cut < 0 ? path : path.slice(cut + 2);
    const source = cut < 0 ? "" : path.slice(0, cut);
    if (name === "self") {
      const own = source.split("::").at(-1) ?? "";
      walker.import({ source, name: "", local: local ?? own, exported }, node);
    } else if (source === "") walker.import({ source: name, name: "", local: local ?? name, exported }, node);
    else walker.import({ source, name, local: local ?? name, exported }, node);
    if (exported) walker.scopes.bindImport(local ?? name);
  };
  switch (walker.type(node)) {
    case "scoped_use_list": {
      const path = join(walker.text(walker.field(node, "path")));
      for (const child of walker.children(walker.field(node, "list"))) useTree(walker, child, path, exported);
      return;
    }
    case "use_list":
      for (const child of walker.children(node)) useTree(walker, child, prefix, exported);
      return;
    case "use_as_clause":
      add(join(walker.text(walker.field(node, "path"))), walker.text(walker.field(node, "alias")));
      return;
    case "use_wildcard":
      walker.import(
        { source: join(walker.text(firstOf(walker, node))), name: "*", local: "*", exported },
        node,
      );
      return;
    default:
      add(join(walker.text(node)), undefined);
  }
};

const bindPattern = (walker: Walker, node: number, type: Expression): void => {
  switch (walker.type(node)) {
    case "identifier":
      // `None`, `MAX`: names of constants, not new ones.
      if (/^[a-z_]/.test(walker.text(node))) walker.scopes.bindLocal(walker.text(node), type);
      else walker.visit(node);
      return;
    case "tuple_struct_pattern":
    case "struct_pattern": {
      const name = walker.field(node, "type");
      use(words, walker, name, "read");
      const wraps = /^(?:Some|Ok|Err)$/.test(walker.text(name));
      for (const child of walker.children(node))
        if (child !== name) bindPattern(walker, child, wraps ? type : UNKNOWN);
      return;
    }
    case "field_pattern":
      for (const child of walker.children(node)) {
        if (walker.type(child) === "shorthand_field_identifier")
          walker.scopes.bindLocal(walker.text(child), "");
        else if (walker.tree.fieldName(child) === "pattern") bindPattern(walker, child, UNKNOWN);
      }
      return;
    case "scoped_identifier":
      walker.visit(node);
      return;
    default:
      for (const child of walker.children(node))
        bindPattern(
          walker,
          child,
          /^(?:ref|mut|reference|captured)/.test(walker.type(node)) ? type : UNKNOWN,
        );
  }
};

const letDeclaration: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  const value = walker.field(node, "value");
  walker.visit(value);
  walker.visit(type);
  walker.visitField(node, "alternative");
  let known = type >= 0 ? writtenType(walker.text(type)) : UNKNOWN;
  if (known === UNKNOWN && value >= 0) known = walker.expression(value);
  bindPattern(walker, walker.field(node, "pattern"), known);
};

const parameterOf: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  bindPattern(walker, walker.field(node, "pattern"), type < 0 ? UNKNOWN : writtenType(walker.text(type)));
  walker.visit(type);
};

const field: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const type = walker.field(node, "type");
  if (walker.scopes.kind === "class")
    walker.define(walker.text(name), "field", name, node, {
      exported: true,
      scope: -1,
      type: writtenType(walker.text(type)),
    });
  walker.visit(type);
};

const item =
  (kind: "constant" | "type" | "macro"): Handler =>
  (walker, node) => {
    const name = walker.field(node, "name");
    const type = walker.field(node, "type");
    const definition = walker.define(walker.text(name), kind, name, node, {
      exported: kind === "macro" || isPublic(walker, "", node),
      type: type < 0 ? "" : writtenType(walker.text(type)),
    });
    walker.scopes.enter("block", definition >= 0 ? definition : undefined);
    walker.visit(type);
    walker.visitField(node, "value");
    walker.scopes.leave();
  };

const modItem: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const body = walker.field(node, "body");
  const word = walker.text(name);
  if (body < 0) {
    const exported = isPublic(walker, word, node);
    walker.import({ source: `self::${word}`, name: "", local: word, exported }, node);
    walker.scopes.bindImport(word);
    return;
  }
  const definition = walker.define(word, "module", name, node, { exported: isPublic(walker, word, node) });
  walker.scopes.enter("block", definition >= 0 ? definition : undefined);
  walker.visitChildren(body);
  walker.scopes.leave();
};

export const rust: Rules = {
  membersVisible: false,
  outerNames: false,
  expression: expressionOf(words),
  handlers: new Map<string, Handler>([
    ["line_comment", skip],
    ["block_comment", skip],
    ["attribute_item", skip],
    ["inner_attribute_item", skip],
    ["lifetime", skip],
    [
      "use_declaration",
      (walker, node) => useTree(walker, walker.field(node, "argument"), "", isPublic(walker, "", node)),
    ],
    ["mod_item", modItem],
    ["struct_item", typeDefinition("class", "name", isPublic)],
    ["union_item", typeDefinition("class", "name", isPublic)],
    ["enum_item", typeDefinition("enum", "name", isPublic)],
    ["trait_item", traitItem],
    ["impl_item", implItem],
    ["function_item", functionItem],
    ["function_signature_item", functionItem],
    ["const_item", item("constant")],
    ["static_item", item("constant")],
    ["type_item", item("type")],
    ["associated_type", item("type")],
    ["macro_definition", item("macro")],
    ["field_declaration", field],
    [
      "enum_variant",
      (walker, node) => {
        const name = walker.field(node, "name");
        walker.define(walker.text(name), "constant", name, node, { exported: true, scope: -1, type: "this" });
        walker.scopes.enter("block");
        walker.visitField(node, "body");
        walker.scopes.leave();
      },
    ],
    [
      "trait_bounds",
      (walker, node) => {
        const inTrait = walker.type(walker.tree.parent[node] ?? -1) === "trait_item";
        for (const child of walker.children(node)) {
          if (inTrait && walker.type(child) === "type_identifier")
            walker.refer(walker.text(child), child, "inherit");
          else walker.visit(child);
        }
      },
    ],
    ["let_declaration", letDeclaration],
    ["let_condition", letDeclaration],
    ["parameter", parameterOf],
    ["self_parameter", skip],
    [
      "closure_parameters",
      (walker, node) => {
        for (const child of walker.children(node)) {
          if (walker.type(child) === "parameter") parameterOf(walker, child);
          else bindPattern(walker, child, UNKNOWN);
        }
      },
    ],
    [
      "closure_expression",
      (walker, node) => {
        walker.scopes.enter("function");
        walker.visitChildren(node);
        walker.scopes.leave();
      },
    ],
    [
      "for_expression",
      (walker, node) => {
        walker.scopes.enter("block");
        const value = walker.field(node, "value");
        walker.visit(value);
        bindPattern(walker, walker.field(node, "pattern"), step(walker.expression(value), "[]"));
        walker.visitField(node, "body");
        walker.scopes.leave();
      },
    ],
    [
      "match_arm",
      (walker, node) => {
        walker.scopes.enter("block");
        const pattern = walker.field(node, "pattern");
        for (const child of walker.children(pattern)) bindPattern(walker, child, UNKNOWN);
        walker.visitField(node, "value");
        walker.scopes.leave();
      },
    ],
    ["block", block],
    ["if_expression", block],
    [
      "type_parameter",
      (walker, node) => {
        walker.scopes.bindLocal(walker.text(walker.field(node, "name")), "");
        walker.visitField(node, "bounds");
      },
    ],
    ["call_expression", callOf(words)],
    [
      "struct_expression",
      (walker, node) => {
        use(words, walker, walker.field(node, "name"), "call");
        walker.visitField(node, "body");
      },
    ],
    ["field_initializer", (walker, node) => walker.visitField(node, "value")],
    ["shorthand_field_initializer", (walker, node) => walker.visitChildren(node)],
    [
      "field_expression",
      (walker, node) => useMember(walker, node, { object: "value", name: "field" }, "read"),
    ],
    [
      "scoped_identifier",
      (walker, node) => useMember(walker, node, { object: "path", name: "name" }, "read"),
    ],
    [
      "scoped_type_identifier",
      (walker, node) => useMember(walker, node, { object: "path", name: "name" }, "type"),
    ],
    [
      "macro_invocation",
      (walker, node) => {
        const macro = pick(walker, node, "macro");
        use(words, walker, macro, "call");
        for (const child of walker.children(node)) if (child !== macro) walker.visit(child);
      },
    ],
    ["identifier", refersTo("read")],
    [
      "type_identifier",
      (walker, node) => {
        if (walker.text(node) !== "Self") walker.refer(walker.text(node), node, "type");
      },
    ],
  ]),
};
