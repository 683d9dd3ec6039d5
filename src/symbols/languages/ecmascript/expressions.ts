import {
  collectionOf,
  type Expression,
  FOREIGN,
  instanceOf,
  step,
  UNKNOWN,
} from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";
import { requiredModule } from "./require.ts";
import { typeOf } from "./types.ts";

const first = (walker: Walker, node: number): number => walker.tree.firstChild[node] ?? -1;

const either = (walker: Walker, left: number, right: number): Expression => {
  const found = walker.expression(left);
  return found === UNKNOWN || found === FOREIGN ? walker.expression(right) : found;
};

/** What the value of an expression is. */
export const ecmascriptExpression = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "identifier":
    case "shorthand_property_identifier": {
      const name = walker.text(node);
      return name === "undefined" ? FOREIGN : name;
    }
    case "this":
      return "this";
    case "super":
      return "super";
    case "member_expression":
      return step(
        walker.expression(walker.field(node, "object")),
        `.${walker.text(walker.field(node, "property"))}`,
      );
    case "subscript_expression":
      return step(walker.expression(walker.field(node, "object")), "[]");
    case "call_expression": {
      const called = walker.field(node, "function");
      const name = walker.text(called);
      if (name === "require") return requiredModule(walker, node);
      if (
        /^(?:Object\.(?:freeze|seal|assign|defineProperty|defineProperties|setPrototypeOf)|Promise\.resolve)$/.test(
          name,
        )
      )
        return walker.expression(first(walker, walker.field(node, "arguments")));
      return step(walker.expression(called), "()");
    }
    case "new_expression": {
      const constructed = walker.field(node, "constructor");
      const name = walker.text(constructed);
      const types = walker.field(node, "type_arguments");
      if (/^(?:Weak)?(?:Map|Set)$|^Array$/.test(name) && types >= 0) {
        const given = [...walker.children(types)];
        return collectionOf(typeOf(walker, given.at(-1) ?? -1));
      }
      return /^[\w$.]+$/.test(name) ? instanceOf(name) : UNKNOWN;
    }
    case "parenthesized_expression":
    case "await_expression":
    case "non_null_expression":
      return walker.expression(first(walker, node));
    case "as_expression":
    case "satisfies_expression": {
      const inner = first(walker, node);
      const type = walker.tree.nextSibling[inner] ?? -1;
      return type < 0 ? walker.expression(inner) : typeOf(walker, type);
    }
    case "type_assertion":
      return typeOf(walker, first(walker, first(walker, node)));
    case "ternary_expression":
      return either(walker, walker.field(node, "consequence"), walker.field(node, "alternative"));
    case "binary_expression": {
      const left = walker.field(node, "left");
      const right = walker.field(node, "right");
      const operator = walker.tree.text.slice(walker.tree.end[left], walker.tree.start[right]).trim();
      if (operator === "??" || operator === "||") return either(walker, left, right);
      return operator === "&&" ? walker.expression(right) : FOREIGN;
    }
    case "assignment_expression":
      return walker.expression(walker.field(node, "right"));
    case "array": {
      const element = first(walker, node);
      return collectionOf(element < 0 ? UNKNOWN : walker.expression(element));
    }
    case "string":
    case "template_string":
    case "number":
    case "regex":
    case "true":
    case "false":
    case "null":
    case "undefined":
    case "unary_expression":
      return FOREIGN;
    default:
      return UNKNOWN;
  }
};
