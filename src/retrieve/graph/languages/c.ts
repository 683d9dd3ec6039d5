import type { Handler, Rules, Walker } from "../walker.ts";
import {
  bindName,
  block,
  callOf,
  closure,
  created,
  expressionOf,
  firstOf,
  inherits,
  refersTo,
  skip,
  use,
  useMember,
  type Vocabulary,
} from "./combine.ts";
import { writtenType } from "./written-type.ts";

const words: Vocabulary = {
  names: new Set(["identifier", "namespace_identifier"]),
  members: {
    field_expression: { object: "argument", name: "field" },
    qualified_identifier: { object: "scope", name: "name" },
  },
  wrappers: new Set(["parenthesized_expression", "pointer_expression", "template_function"]),
  calls: { call_expression: { function: "function" } },
  creations: { new_expression: "type", compound_literal_expression: "type" },
  literals: new Set([
    "string_literal",
    "number_literal",
    "char_literal",
    "true",
    "false",
    "null",
    "binary_expression",
    "sizeof_expression",
    "concatenated_string",
  ]),
  self: new Set(["this"]),
  parent: new Set(),
  casts: { cast_expression: "type" },
  elements: { subscript_expression: "argument" },
};

/** The name inside of pointers, arrays, references and parameter lists: `*(name[3])(int)`. */
const nameIn = (walker: Walker, node: number): number => {
  let at = node;
  for (let hops = 0; hops < 20 && at >= 0; hops++) {
    const type = walker.type(at);
    if (
      /^(?:identifier|field_identifier|type_identifier|qualified_identifier|destructor_name|operator_name)$/.test(
        type,
      )
    )
      return at;
    const inner = walker.field(at, "declarator");
    at =
      inner >= 0
        ? inner
        : walker.child(
            at,
            "identifier",
            "field_identifier",
            "pointer_declarator",
            "function_declarator",
            "reference_declarator",
            "array_declarator",
            "parenthesized_declarator",
            "qualified_identifier",
            "type_identifier",
          );
  }
  return -1;
};

const functionIn = (walker: Walker, node: number): number => {
  let at = walker.field(node, "declarator");
  for (let hops = 0; hops < 20 && at >= 0; hops++) {
    if (walker.type(at) === "function_declarator") return at;
    const inner = walker.field(at, "declarator");
    at = inner >= 0 ? inner : walker.child(at, "function_declarator");
  }
  return -1;
};

const isStatic = (walker: Walker, node: number): boolean =>
  /\bstatic\b/.test(walker.text(walker.child(node, "storage_class_specifier")));

/** `D S::run(…)`, `int helper(…)`, `virtual D run(…) = 0;` */
const defineFunction = (walker: Walker, node: number, declarator: number): number => {
  const name = nameIn(walker, declarator);
  const { scopes } = walker;
  const type = walker.text(walker.field(node, "type"));
  const inClass = scopes.kind === "class";
  const path = walker.text(name).split("::");
  const word = (path.at(-1) ?? "").replace(/<.*$/s, "").trim();
  const owner = path.length > 1 ? (path.at(-2) ?? "").replace(/<.*$/s, "").trim() : "";
  const around = walker.kindOf(scopes.definition);
  return walker.define(word, inClass || owner !== "" ? "method" : "function", name, node, {
    exported: inClass ? true : !isStatic(walker, node) || around === "class",
    type: writtenType(type),
    ...(owner === "" ? {} : { attachedTo: owner, scope: -1 }),
  });
};

const functionDefinition: Handler = (walker, node) => {
  const declarator = functionIn(walker, node);
  if (declarator < 0) {
    walker.visitChildren(node);
    return;
  }
  const definition = defineFunction(walker, node, declarator);
  walker.visitField(node, "type");
  walker.scopes.enter("function", definition >= 0 ? definition : undefined);
  walker.visitField(declarator, "parameters");
  for (const child of walker.children(node)) {
    const field = walker.tree.fieldName(child);
    if (field !== "declarator" && field !== "type") walker.visit(child);
  }
  walker.scopes.leave();
};

/** Variables, fields and prototypes. */
const declaration: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  for (const child of walker.children(node)) {
    if (walker.tree.fieldName(child) !== "declarator") continue;
    const holder = walker.type(child) === "init_declarator" ? walker.field(child, "declarator") : child;
    const value = walker.field(child, "value");
    const isPrototype =
      walker.type(holder) === "function_declarator" ||
      (walker.type(holder) === "pointer_declarator" &&
        walker.type(walker.field(holder, "declarator")) === "function_declarator");
    if (
      isPrototype &&
      walker.scopes.kindOf(walker.scopes.nearest("function", "class", "file")) !== "function"
    ) {
      const definition = defineFunction(walker, node, holder);
      walker.scopes.enter("function", definition >= 0 ? definition : undefined);
      walker.visitField(functionIn(walker, node), "parameters");
      walker.scopes.leave();
      continue;
    }
    const name = nameIn(walker, holder);
    const written = walker.text(type);
    const known = /^auto\b/.test(written) && value >= 0 ? walker.expression(value) : writtenType(written);
    if (name >= 0) bindName(walker, name, known, node);
    walker.visit(value);
  }
};

const specifier =
  (kind: "class" | "enum"): Handler =>
  (walker, node) => {
    const name = walker.field(node, "name");
    const body = walker.field(node, "body");
    if (body < 0) {
      if (name >= 0) walker.refer(walker.text(name), name, "type");
      return;
    }
    // `typedef struct { … } Name;`
    const above = walker.tree.parent[node] ?? -1;
    const given =
      name >= 0
        ? name
        : walker.type(above) === "type_definition"
          ? nameIn(walker, walker.field(above, "declarator"))
          : -1;
    const definition = walker.define(walker.text(given), kind, given, node, { exported: true });
    walker.scopes.enter("class", definition >= 0 ? definition : undefined);
    for (const child of walker.children(node)) if (child !== name) walker.visit(child);
    walker.scopes.leave();
  };

const typeDefinition: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  const name = nameIn(walker, walker.field(node, "declarator"));
  if (
    /_specifier$/.test(walker.type(type)) &&
    walker.field(type, "body") >= 0 &&
    walker.field(type, "name") < 0
  )
    return;
  if (walker.text(name) !== walker.text(walker.field(type, "name")))
    walker.define(walker.text(name), "type", name, node, {
      exported: true,
      type: writtenType(walker.text(walker.field(type, "name")) || walker.text(type)),
    });
};

const parameterOf: Handler = (walker, node) => {
  const type = walker.field(node, "type");
  walker.visit(type);
  const name = nameIn(walker, walker.field(node, "declarator"));
  if (name >= 0) walker.scopes.bindLocal(walker.text(name), writtenType(walker.text(type)));
  walker.visitField(node, "default_value");
};

const macro: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  walker.define(walker.text(name), "macro", name, node, { exported: true });
};

export const c: Rules = {
  membersVisible: true,
  outerNames: true,
  expression: expressionOf(words),
  handlers: new Map<string, Handler>([
    ["comment", skip],
    [
      "preproc_include",
      (walker, node) => {
        const path = walker.text(walker.field(node, "path"));
        if (path.startsWith('"')) walker.import({ source: path.slice(1, -1), name: "*", local: "*" }, node);
      },
    ],
    ["preproc_def", macro],
    ["preproc_function_def", macro],
    [
      "preproc_ifdef",
      (walker, node) => {
        for (const child of walker.children(node))
          if (walker.tree.fieldName(child) !== "name") walker.visit(child);
      },
    ],
    ["function_definition", functionDefinition],
    ["declaration", declaration],
    ["field_declaration", declaration],
    ["struct_specifier", specifier("class")],
    ["union_specifier", specifier("class")],
    ["class_specifier", specifier("class")],
    ["enum_specifier", specifier("enum")],
    [
      "enumerator",
      (walker, node) => {
        const name = walker.field(node, "name");
        walker.define(walker.text(name), "constant", name, node, { exported: true, parent: -1, scope: 0 });
        walker.visitField(node, "value");
      },
    ],
    ["type_definition", typeDefinition],
    [
      "alias_declaration",
      (walker, node) => {
        const name = walker.field(node, "name");
        const type = walker.field(node, "type");
        walker.define(walker.text(name), "type", name, node, {
          exported: true,
          type: writtenType(walker.text(type)),
        });
        walker.visit(type);
      },
    ],
    ["base_class_clause", inherits(["type_identifier"])],
    ["namespace_definition", (walker, node) => walker.visitField(node, "body")],
    ["parameter_declaration", parameterOf],
    ["optional_parameter_declaration", parameterOf],
    [
      "for_range_loop",
      (walker, node) => {
        walker.scopes.enter("block");
        const right = walker.field(node, "right");
        const written = walker.text(walker.field(node, "type"));
        const name = nameIn(walker, walker.field(node, "declarator"));
        walker.visit(right);
        const element = walker.expression(right);
        walker.scopes.bindLocal(
          walker.text(name),
          /auto/.test(written) ? `${element === "?" ? "" : `${element}[]`}` : writtenType(written),
        );
        walker.visitField(node, "body");
        walker.scopes.leave();
      },
    ],
    [
      "type_parameter_declaration",
      (walker, node) => walker.scopes.bindLocal(walker.text(firstOf(walker, node)), ""),
    ],
    ["template_declaration", block],
    ["compound_statement", block],
    ["for_statement", block],
    ["lambda_expression", closure],
    ["call_expression", callOf(words)],
    ["new_expression", created(words, ["type_identifier"])],
    [
      "field_expression",
      (walker, node) => useMember(walker, node, { object: "argument", name: "field" }, "read"),
    ],
    [
      "qualified_identifier",
      (walker, node) => {
        const name = walker.field(node, "name");
        const scope = walker.text(walker.field(node, "scope"));
        // Namespaces are not symbols of the graph; classes are.
        if (/^(?:identifier|type_identifier)$/.test(walker.type(name)))
          walker.refer(walker.text(name), name, "read", /^[A-Z]/.test(scope) ? scope : "");
        else walker.visit(name);
      },
    ],
    [
      "assignment_expression",
      (walker, node) => {
        use(words, walker, walker.field(node, "left"), "write");
        walker.visitField(node, "right");
      },
    ],
    [
      "field_initializer",
      (walker, node) => {
        const name = walker.child(node, "field_identifier");
        walker.refer(walker.text(name), name, "write", "this");
        for (const child of walker.children(node)) if (child !== name) walker.visit(child);
      },
    ],
    ["field_designator", skip],
    ["statement_identifier", skip],
    ["identifier", refersTo("read")],
    ["type_identifier", refersTo("type")],
  ]),
};
