import type { Handler, Rules, Walker } from "../../extract/walker.ts";
import { skip } from "../../rules/handlers.ts";
import { annotation, referQuoted, referQuotedArguments } from "./annotations.ts";
import {
  asPattern,
  assertStatement,
  assignment,
  augmentedAssignment,
  comprehension,
  forStatement,
  globalStatement,
  ifClause,
  namedExpression,
} from "./bindings.ts";
import {
  classDefinition,
  decorator,
  functionDefinition,
  lambda,
  returnStatement,
  typeAlias,
} from "./definitions.ts";
import { pythonExpression } from "./expressions.ts";
import { importFrom, importStatement } from "./imports.ts";
import { firstPart, use } from "./use.ts";

const isString = (walker: Walker, node: number): boolean => walker.type(node) === "string";

/** Calls whose text is a type: `cast("Store", value)`. */
const call: Handler = (walker, node) => {
  const called = walker.field(node, "function");
  const given = walker.field(node, "arguments");
  use(walker, called, "call");
  if (walker.type(called) === "subscript") referQuotedArguments(walker, called);
  const type = firstPart(walker, given);
  if (isString(walker, type) && /(?:^|\.)cast$/.test(walker.text(called))) referQuoted(walker, type);
  walker.visit(given);
};

/** `TypeVar("T", bound="Store")`. */
const keywordArgument: Handler = (walker, node) => {
  const value = walker.field(node, "value");
  if (isString(walker, value) && walker.text(walker.field(node, "name")) === "bound")
    referQuoted(walker, value);
  else walker.visit(value);
};

const subscript: Handler = (walker, node) => {
  referQuotedArguments(walker, node);
  walker.visitChildren(node);
};

export const rules: Rules = {
  membersVisible: false,
  outerNames: false,
  expression: pythonExpression,
  handlers: new Map<string, Handler>([
    ["comment", skip],
    ["identifier", (walker, node) => walker.refer(walker.text(node), node, "read")],
    ["attribute", (walker, node) => use(walker, node, "read")],
    ["type", annotation],
    ["call", call],
    ["keyword_argument", keywordArgument],
    ["subscript", subscript],
    ["function_definition", functionDefinition],
    ["class_definition", classDefinition],
    ["decorator", decorator],
    ["lambda", lambda],
    ["return_statement", returnStatement],
    ["type_alias_statement", typeAlias],
    ["assignment", assignment],
    ["augmented_assignment", augmentedAssignment],
    ["named_expression", namedExpression],
    ["for_statement", forStatement],
    ["list_comprehension", comprehension],
    ["set_comprehension", comprehension],
    ["dictionary_comprehension", comprehension],
    ["generator_expression", comprehension],
    ["as_pattern", asPattern],
    ["if_statement", ifClause],
    ["elif_clause", ifClause],
    ["assert_statement", assertStatement],
    ["global_statement", globalStatement],
    ["nonlocal_statement", skip],
    ["import_statement", importStatement],
    ["import_from_statement", importFrom],
    ["future_import_statement", skip],
  ]),
};
