import { step } from "../extract/expression.ts";
import type { Handler, Rules, Walker } from "../extract/walker.ts";
import type { ProjectFiles, ResolveSource } from "../project/family.ts";
import { joinPath, nameOf } from "../project/paths.ts";
import { argumentsOf, closure, firstOf, refersTo, skip } from "../rules/handlers.ts";
import type { SymbolLanguage } from "../rules/symbol-language.ts";
import { expressionOf, type NodeTypes } from "../rules/uses.ts";

const nodeTypes: NodeTypes = {
  names: new Set(["identifier", "constant"]),
  members: { scope_resolution: { object: "scope", name: "name" } },
  wrappers: new Set(["parenthesized_statements"]),
  calls: {},
  creations: {},
  literals: new Set("string integer float true false nil simple_symbol hash regex binary".split(" ")),
  self: new Set(["self"]),
  parent: new Set(["super"]),
  casts: {},
  elements: { element_reference: "object" },
};

const plainExpression = expressionOf(nodeTypes);

const expression = (walker: Walker, node: number): string => {
  switch (walker.type(node)) {
    case "instance_variable":
      return `this.${walker.text(node)}`;
    case "call": {
      const receiver = walker.field(node, "receiver");
      const name = walker.text(walker.field(node, "method"));
      if (name === "new") return receiver < 0 ? "this" : step(walker.expression(receiver), "()");
      return step(receiver < 0 ? name : step(walker.expression(receiver), `.${name}`), "()");
    }
    default:
      return plainExpression(walker, node);
  }
};

const container =
  (kind: "class" | "module"): Handler =>
  (walker, node) => {
    const name = walker.field(node, "name");
    const text = walker.text(name).split("::").at(-1) ?? "";
    // A module is like a class: its methods become members where it is mixed in.
    const definition = walker.define(text, "class", name, node, { exported: true });
    walker.scopes.enter("class", definition >= 0 ? definition : undefined);
    const parent = walker.field(node, "superclass");
    if (kind === "class" && parent >= 0) inherit(walker, firstOf(walker, parent));
    walker.visitField(node, "body");
    walker.scopes.leave();
  };

const inherit = (walker: Walker, node: number): void => {
  const name = walker.type(node) === "scope_resolution" ? walker.field(node, "name") : node;
  if (walker.type(name) === "constant") walker.refer(walker.text(name), name, "inherit");
};

const method: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const definition = walker.define(
    walker.text(name),
    scopes.kind === "class" ? "method" : "function",
    name,
    node,
    { exported: true },
  );
  scopes.enter("function", definition >= 0 ? definition : undefined);
  walker.visitField(node, "parameters");
  walker.visitField(node, "body");
  scopes.leave();
};

const bindParameters: Handler = (walker, node) => {
  for (const child of walker.children(node)) {
    const name = walker.field(child, "name");
    walker.scopes.bindLocal(walker.text(name >= 0 ? name : child), "");
    walker.visitField(child, "value");
  }
};

const assignment: Handler = (walker, node) => {
  const { scopes } = walker;
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  walker.visit(right);
  const value = walker.expression(right);
  const type = value === "?" ? "" : value;
  switch (walker.type(left)) {
    case "identifier":
      scopes.bindLocal(walker.text(left), type, scopes.nearest("function", "class", "file"));
      return;
    case "constant":
      walker.define(walker.text(left), "constant", left, node, { exported: true, type });
      return;
    case "instance_variable": {
      let owner = scopes.definition;
      while (owner >= 0 && walker.kindOf(owner) !== "class") owner = walker.parentOf(owner);
      if (owner >= 0 && walker.member(owner, walker.text(left)) < 0)
        walker.define(walker.text(left), "field", left, node, { parent: owner, scope: -1, type });
      else walker.refer(walker.text(left), left, "write", "this");
      return;
    }
    default:
      walker.visit(left);
  }
};

const call: Handler = (walker, node) => {
  const receiver = walker.field(node, "receiver");
  const name = walker.field(node, "method");
  const text = walker.text(name);
  const given = argumentsOf(walker, node);
  if (receiver < 0 && /^require(?:_relative)?$/.test(text)) {
    const source = walker.text(given[0] ?? -1).slice(1, -1);
    if (source !== "")
      walker.import(
        { source: text === "require_relative" ? `./${source}` : source, name: "", local: "" },
        node,
      );
    return;
  }
  if (receiver < 0 && /^(?:include|extend|prepend)$/.test(text) && walker.scopes.kind === "class") {
    for (const argument of given) inherit(walker, argument);
    return;
  }
  if (receiver < 0 && /^attr_(?:reader|writer|accessor)$/.test(text) && walker.scopes.kind === "class")
    for (const argument of given)
      walker.define(walker.text(argument).replace(/^:/, ""), "field", argument, node, {
        exported: true,
        scope: -1,
      });
  walker.visit(receiver);
  if (text === "new" && receiver >= 0 && walker.type(receiver) === "constant")
    walker.refer(walker.text(receiver), receiver, "call");
  else walker.refer(text, name, "call", receiver < 0 ? "" : walker.expression(receiver));
  for (const argument of given) walker.visit(argument);
  walker.visitField(node, "block");
};

const rules: Rules = {
  membersVisible: true,
  outerNames: true,
  expression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["class", container("class")],
    ["module", container("module")],
    ["method", method],
    ["singleton_method", method],
    ["method_parameters", bindParameters],
    ["block_parameters", bindParameters],
    ["block", closure],
    ["do_block", closure],
    ["lambda", closure],
    ["assignment", assignment],
    ["operator_assignment", (walker, node) => walker.visitField(node, "right")],
    ["call", call],
    [
      "scope_resolution",
      (walker, node) => {
        const scope = walker.field(node, "scope");
        const name = walker.field(node, "name");
        walker.visit(scope);
        walker.refer(walker.text(name), name, "read");
      },
    ],
    ["instance_variable", (walker, node) => walker.refer(walker.text(node), node, "read", "this")],
    ["exception_variable", (walker, node) => walker.scopes.bindLocal(walker.text(firstOf(walker, node)), "")],
    ["hash_key_symbol", skip],
    ["identifier", refersTo("call")],
    ["constant", refersTo("read")],
  ]),
};

/** `require "a/b"` names the end of a path; `require_relative` a path beside the file. */
const createRequires =
  (files: ProjectFiles): ResolveSource =>
  (from, source) => {
    const beside = files.byPath(`${joinPath(from.folder, source).replace(/\.rb$/, "")}.rb`);
    if (beside !== undefined) return [beside.id];
    const plain = source.replace(/^(?:\.{1,2}\/)+/, "").replace(/\.rb$/, "");
    const ends = files.byStem.get(nameOf(plain)).filter((id) => files.file(id)?.path.endsWith(`${plain}.rb`));
    return ends.length === 1 ? ends : [];
  };

export const ruby: SymbolLanguage = {
  ids: ["ruby"],
  rules,
  family: {
    name: "ruby",
    reach: "project",
    createModules: createRequires,
    hasOpenTypes: true,
    callsMembersPlainly: true,
  },
};
