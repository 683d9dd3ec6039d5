import { collectionOf, type Expression, FOREIGN, step, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";
import { pythonType } from "./types.ts";
import { firstPart, ownerOf, parts } from "./use.ts";

/** `self`, or the name that a method uses instead; the class itself is `#` and its number. */
const isSelf = (walker: Walker, node: number): boolean =>
  walker.type(node) === "identifier" &&
  walker.scopes.resolve(walker.text(node), walker.scopes.current, false) === "this";

const classOfSelf = (walker: Walker): Expression => {
  const owner = ownerOf(walker);
  return owner < 0 ? UNKNOWN : `#${owner}`;
};

const callExpression = (walker: Walker, node: number): Expression => {
  const called = walker.field(node, "function");
  const given = firstPart(walker, walker.field(node, "arguments"));
  switch (walker.text(called)) {
    case "super":
      return "super";
    case "cast":
    case "typing.cast":
    case "t.cast":
      return pythonType(walker, given);
    case "type":
      return isSelf(walker, given) ? classOfSelf(walker) : UNKNOWN;
    default:
      return step(walker.expression(called), "()");
  }
};

/** What the value of an expression is. */
export const pythonExpression = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "identifier":
      return walker.text(node);
    case "attribute": {
      const object = walker.field(node, "object");
      const attribute = walker.text(walker.field(node, "attribute"));
      if (attribute === "__class__" && isSelf(walker, object)) return classOfSelf(walker);
      return step(walker.expression(object), `.${attribute}`);
    }
    case "call":
      return callExpression(walker, node);
    case "subscript":
      return step(walker.expression(walker.field(node, "value")), "[]");
    case "parenthesized_expression":
    case "await":
      return walker.expression(firstPart(walker, node));
    case "named_expression":
      return walker.expression(walker.field(node, "value"));
    case "conditional_expression":
    case "boolean_operator": {
      const given = parts(walker, node);
      const found = walker.expression(given[0] ?? -1);
      return found === UNKNOWN || found === FOREIGN ? walker.expression(given.at(-1) ?? -1) : found;
    }
    case "list":
    case "set":
    case "tuple": {
      const element = firstPart(walker, node);
      return collectionOf(element < 0 ? UNKNOWN : walker.expression(element));
    }
    case "string":
    case "concatenated_string":
    case "integer":
    case "float":
    case "true":
    case "false":
    case "dictionary":
    case "comparison_operator":
    case "not_operator":
    case "lambda":
      return FOREIGN;
    // `None` is often only the initial value: later assignments tell more.
    default:
      return UNKNOWN;
  }
};
