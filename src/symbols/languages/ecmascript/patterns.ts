import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";

/**
 * Binds the names of a pattern as locals of `scope`. What is taken out of an object by name is a use of that member:
 * `const { open } = store` reads `store.open`.
 */
export const bindPattern = (walker: Walker, node: number, value: Expression, scope: number): void => {
  const { scopes } = walker;
  switch (walker.type(node)) {
    case "identifier":
    case "shorthand_property_identifier_pattern":
      scopes.bindLocal(walker.text(node), value, scope);
      return;
    case "object_pattern":
      for (const part of walker.children(node)) bindProperty(walker, part, value, scope);
      return;
    case "array_pattern":
      for (const part of walker.children(node)) bindPattern(walker, part, step(value, "[]"), scope);
      return;
    case "assignment_pattern":
    case "object_assignment_pattern": {
      const fallback = walker.field(node, "right");
      bindPattern(
        walker,
        walker.field(node, "left"),
        value === UNKNOWN ? walker.expression(fallback) : value,
        scope,
      );
      walker.visit(fallback);
      return;
    }
    case "rest_pattern":
      bindPattern(walker, walker.tree.firstChild[node] ?? -1, value, scope);
      return;
    case "member_expression":
    case "subscript_expression":
      walker.visit(node);
      return;
  }
};

const bindProperty = (walker: Walker, part: number, value: Expression, scope: number): void => {
  const read = (key: number): Expression => {
    const name = walker.text(key);
    if (value !== UNKNOWN && value !== "") walker.refer(name, key, "read", value);
    return step(value, `.${name}`);
  };
  switch (walker.type(part)) {
    case "shorthand_property_identifier_pattern":
      bindPattern(walker, part, read(part), scope);
      return;
    case "object_assignment_pattern":
      bindPattern(walker, walker.field(part, "left"), read(walker.field(part, "left")), scope);
      walker.visitField(part, "right");
      return;
    case "pair_pattern": {
      const key = walker.field(part, "key");
      const member = walker.type(key) === "property_identifier" ? read(key) : UNKNOWN;
      bindPattern(walker, walker.field(part, "value"), member, scope);
      return;
    }
    case "rest_pattern":
      bindPattern(walker, walker.tree.firstChild[part] ?? -1, value, scope);
      return;
  }
};
