import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Rules, Walker } from "../../extract/walker.ts";
import { argumentsOf, bindName, block, firstOf, skip } from "../../rules/handlers.ts";
import { use } from "../../rules/uses.ts";
import { calledName, expression, metatable, moduleName, nodeTypes, requiredSource } from "./expressions.ts";

/** Name under which the value that a file returns is its whole module. */
export const WHOLE_MODULE = "return";

/** The definition that a table is: `M`, or `M.config` of what was defined before. */
const tableDefinition = (walker: Walker, node: number): number => {
  if (walker.type(node) === "dot_index_expression") {
    const owner = tableDefinition(walker, walker.field(node, "table"));
    return owner < 0 ? -1 : walker.member(owner, walker.text(walker.field(node, "field")));
  }
  if (walker.type(node) !== "identifier") return -1;
  if (walker.text(node) === "self") return walker.parentOf(walker.scopes.definition);
  const meaning = walker.scopes.meaning(walker.text(node), walker.scopes.current);
  return typeof meaning === "object" ? meaning.definition : -1;
};

const functionBody = (walker: Walker, node: number, definition: number): void => {
  walker.scopes.enter("function", definition >= 0 ? definition : undefined);
  for (const parameter of walker.children(walker.field(node, "parameters")))
    if (walker.type(parameter) === "identifier") walker.scopes.bindLocal(walker.text(parameter), "");
  walker.visitField(node, "body");
  walker.scopes.leave();
};

/** Visits the value of a definition: functions and tables are part of it. */
const visitValue = (walker: Walker, value: number, definition: number): void => {
  const isMeta = calledName(walker, value) === "setmetatable";
  const table = isMeta ? (argumentsOf(walker, value)[0] ?? -1) : value;
  if (isMeta) {
    const parent = metatable(walker, value);
    if (walker.type(parent) === "identifier")
      walker.refer(walker.text(parent), parent, "inherit", "", definition);
  }
  if (walker.type(value) === "function_definition") functionBody(walker, value, definition);
  else if (definition >= 0 && walker.type(table) === "table_constructor") {
    walker.scopes.enter("class", definition);
    walker.visitChildren(table);
    walker.scopes.leave();
  } else walker.visit(value);
};

/** A table that starts empty, or with a metatable, is filled like a class. */
const isClassLike = (walker: Walker, value: number): boolean =>
  calledName(walker, value) === "setmetatable" ||
  (walker.type(value) === "table_constructor" && firstOf(walker, value) < 0);

/** `M.name = value`, `function M.name()`, `{ name = value }` in the table `owner`. */
const defineMember = (walker: Walker, owner: number, name: number, value: number, whole: number): number => {
  const isFunction = /^function_/.test(walker.type(value));
  return walker.define(walker.text(name), isFunction ? "method" : "field", name, whole, {
    exported: true,
    parent: owner,
    scope: -1,
    type: isFunction || value < 0 ? "" : known(walker.expression(value)),
  });
};

const known = (type: Expression): Expression => (type === UNKNOWN ? "" : type);

const functionDeclaration: Handler = (walker, node) => {
  const { scopes } = walker;
  const name = walker.field(node, "name");
  const isLocal = walker.tree.fieldName(node) === "local_declaration";
  if (walker.type(name) === "identifier") {
    const isNested = scopes.nearest("function") > 0;
    const definition =
      isLocal && isNested
        ? -1
        : walker.define(walker.text(name), "function", name, node, { exported: !isLocal });
    if (definition < 0) scopes.bindLocal(walker.text(name), "");
    functionBody(walker, node, definition);
    return;
  }
  const table = walker.field(name, "table");
  const member = walker.field(name, walker.type(name) === "method_index_expression" ? "method" : "field");
  const owner = tableDefinition(walker, table);
  walker.visit(table);
  const definition =
    owner >= 0
      ? defineMember(walker, owner, member, node, node)
      : walker.define(walker.text(member), "method", member, node, {
          exported: true,
          attachedTo: /\w+$/.exec(walker.text(table))?.[0] ?? "",
          scope: -1,
        });
  functionBody(walker, node, definition);
};

/** `local a, b = f(), g()`, at the top of the file and in functions. */
const localDeclaration = (
  walker: Walker,
  names: readonly number[],
  values: readonly number[],
  whole: number,
): void => {
  const { scopes } = walker;
  for (const [index, name] of names.entries()) {
    const value = values[index] ?? -1;
    const source = requiredSource(walker, value);
    const isTop = scopes.nearest("function") === 0;
    if (source !== "" && isTop) walker.import({ source, name: "", local: walker.text(name) }, value);
    else if (isTop && isClassLike(walker, value))
      visitValue(walker, value, walker.define(walker.text(name), "class", name, whole));
    else if (isTop && walker.type(value) === "function_definition")
      visitValue(walker, value, walker.define(walker.text(name), "function", name, whole));
    else if (isTop && walker.type(value) === "table_constructor")
      visitValue(walker, value, walker.define(walker.text(name), "variable", name, whole));
    else {
      walker.visit(value);
      const type = value < 0 ? UNKNOWN : walker.expression(value);
      if (isTop) walker.define(walker.text(name), "variable", name, whole, { type: known(type) });
      else bindName(walker, name, type, whole);
    }
  }
  for (const value of values.slice(names.length)) walker.visit(value);
};

const assign = (walker: Walker, target: number, value: number, whole: number): void => {
  const { scopes } = walker;
  const name = walker.text(target);
  if (walker.type(target) === "identifier") {
    const isNew = scopes.nearest("function") === 0 && scopes.meaning(name, scopes.current) === "unbound";
    if (!isNew) walker.refer(name, target, "write");
    const isFunction = walker.type(value) === "function_definition";
    const kind = isFunction ? "function" : isClassLike(walker, value) ? "class" : "variable";
    visitValue(walker, value, isNew ? walker.define(name, kind, target, whole, { exported: true }) : -1);
    return;
  }
  const table = walker.field(target, "table");
  const member = walker.field(target, "field");
  if (walker.type(target) !== "dot_index_expression") {
    walker.visit(target);
    walker.visit(value);
    return;
  }
  if (walker.text(table) === "_G") {
    walker.import(
      { source: "", name: walker.text(value), local: walker.text(member), exported: true },
      target,
    );
    walker.visit(value);
    return;
  }
  const owner = tableDefinition(walker, table);
  if (owner < 0 || walker.member(owner, walker.text(member)) >= 0) {
    use(nodeTypes, walker, target, "write");
    visitValue(walker, value, -1);
    return;
  }
  walker.visit(table);
  visitValue(walker, value, defineMember(walker, owner, member, value, whole));
};

const assignment: Handler = (walker, node) => {
  const names = walker.children(walker.child(node, "variable_list"));
  const values = walker.children(walker.child(node, "expression_list"));
  const parent = walker.tree.parent[node] ?? -1;
  if (walker.type(parent) === "variable_declaration") localDeclaration(walker, names, values, parent);
  else {
    for (const [index, name] of names.entries()) assign(walker, name, values[index] ?? -1, node);
    for (const value of values.slice(names.length)) walker.visit(value);
  }
};

const variableDeclaration: Handler = (walker, node) => {
  const list = walker.child(node, "variable_list");
  if (list >= 0) localDeclaration(walker, walker.children(list), [], node);
  else walker.visitChildren(node);
};

const field: Handler = (walker, node) => {
  const name = walker.field(node, "name");
  const value = walker.field(node, "value");
  const owner = walker.scopes.definition;
  if (walker.scopes.kind === "class" && walker.type(name) === "identifier")
    visitValue(walker, value, defineMember(walker, owner, name, value, node));
  else {
    if (name >= 0 && walker.type(name) !== "identifier") walker.visit(name);
    visitValue(walker, value, -1);
  }
};

/** A module is what its file returns: a table with a name, or one that is written there. */
const returnModule = (walker: Walker, value: number): void => {
  const table = calledName(walker, value) === "setmetatable" ? (argumentsOf(walker, value)[0] ?? -1) : value;
  if (walker.type(table) === "identifier")
    walker.import({ source: "", name: walker.text(table), local: WHOLE_MODULE, exported: true }, table);
  if (walker.type(table) !== "table_constructor") return;
  for (const entry of walker.children(table)) {
    const name = walker.field(entry, "name");
    const given = walker.field(entry, "value");
    if (walker.type(name) !== "identifier") continue;
    if (walker.type(given) === "identifier")
      walker.import(
        { source: "", name: walker.text(given), local: walker.text(name), exported: true },
        entry,
      );
    else if (walker.type(given) === "function_definition")
      walker.define(walker.text(name), "function", name, entry, { exported: true, scope: -1 });
  }
};

const returnStatement: Handler = (walker, node) => {
  const { scopes } = walker;
  const value = firstOf(walker, firstOf(walker, node));
  const scope = scopes.nearest("function");
  if (scope === 0) returnModule(walker, value);
  else if (scopes.definitionOf(scopes.parentOf(scope)) !== scopes.definitionOf(scope))
    walker.setType(scopes.definitionOf(scope), walker.expression(value));
  walker.visitChildren(node);
};

const call: Handler = (walker, node) => {
  const source = requiredSource(walker, node);
  if (source !== "") {
    walker.import({ source, name: "", local: moduleName(source) }, node);
    return;
  }
  use(nodeTypes, walker, walker.field(node, "name"), "call");
  for (const argument of argumentsOf(walker, node)) walker.visit(argument);
};

/** `for i, item in ipairs(items)`: the second name is an element. */
const forStatement: Handler = (walker, node) => {
  walker.scopes.enter("block");
  const clause = walker.field(node, "clause");
  const values = walker.child(clause, "expression_list");
  walker.visit(values);
  const [items = -1] = argumentsOf(walker, firstOf(walker, values));
  for (const [index, name] of walker.children(walker.child(clause, "variable_list")).entries())
    walker.scopes.bindLocal(walker.text(name), index === 1 ? step(walker.expression(items), "[]") : "");
  const counter = walker.field(clause, "name");
  if (counter >= 0) walker.scopes.bindLocal(walker.text(counter), "");
  for (const limit of ["start", "end", "step"]) walker.visitField(clause, limit);
  walker.visitField(node, "body");
  walker.scopes.leave();
};

export const rules: Rules = {
  membersVisible: false,
  outerNames: true,
  expression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["string", skip],
    ["function_declaration", functionDeclaration],
    ["function_definition", (walker, node) => functionBody(walker, node, -1)],
    ["variable_declaration", variableDeclaration],
    ["assignment_statement", assignment],
    ["table_constructor", block],
    ["field", field],
    ["return_statement", returnStatement],
    ["function_call", call],
    ["for_statement", forStatement],
    ["block", block],
    ["dot_index_expression", (walker, node) => use(nodeTypes, walker, node, "read")],
    ["method_index_expression", (walker, node) => use(nodeTypes, walker, node, "read")],
    [
      "identifier",
      (walker, node) => {
        if (walker.text(node) !== "self") walker.refer(walker.text(node), node, "read");
      },
    ],
    ["goto_statement", skip],
    ["label_statement", skip],
  ]),
};
