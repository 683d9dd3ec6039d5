import { type Expression, step } from "../extract/expression.ts";
import type { Handler, Walker } from "../extract/walker.ts";
import { firstOf, visitOthers } from "./handlers.ts";
import { expressionOf, type NodeTypes, use } from "./uses.ts";

/** For grammars that write `a.b` as an expression with a suffix, which holds the name. */
export const createNavigation = (nodeTypes: NodeTypes, nameIn: (walker: Walker, node: number) => number) => {
  const plainExpression = expressionOf(nodeTypes);
  const refer = (walker: Walker, node: number, kind: "call" | "read"): void => {
    const object = firstOf(walker, node);
    const name = nameIn(walker, node);
    walker.visit(object);
    if (name >= 0) walker.refer(walker.text(name), name, kind, walker.expression(object));
  };
  const call: Handler = (walker, node) => {
    const called = firstOf(walker, node);
    if (walker.type(called) === "navigation_expression") refer(walker, called, "call");
    else use(nodeTypes, walker, called, "call");
    visitOthers(walker, node, called);
  };
  return {
    expression: (walker: Walker, node: number): Expression => {
      const type = walker.type(node);
      if (type === "call_expression") return step(walker.expression(firstOf(walker, node)), "()");
      if (type !== "navigation_expression") return plainExpression(walker, node);
      return step(walker.expression(firstOf(walker, node)), `.${walker.text(nameIn(walker, node))}`);
    },
    handlers: [
      ["call_expression", call],
      ["navigation_expression", (walker, node) => refer(walker, node, "read")],
    ] satisfies readonly (readonly [string, Handler])[],
  };
};
