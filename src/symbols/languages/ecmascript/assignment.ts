import type { Handler, Walker } from "../../extract/walker.ts";
import { functionBody, isFunction } from "./functions.ts";
import { bindPattern } from "./patterns.ts";
import { use } from "./use.ts";

export const assignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  const name = walker.text(left);
  const prototype = /^([\w$]+)\.prototype\.([\w$]+)$/.exec(name);
  const exported = /^(?:module\.)?exports\.([\w$]+)$/.exec(name);
  if (name === "module.exports") {
    exportAll(walker, right);
  } else if (exported !== null && isFunction(walker, right)) {
    const definition = walker.define(exported[1] ?? "", "function", left, node, { exported: true });
    functionBody(walker, right, definition);
    return;
  } else if (exported !== null && walker.type(right) === "identifier")
    walker.import({ source: "", name: walker.text(right), local: exported[1] ?? "", exported: true }, node);
  else if (prototype !== null && isFunction(walker, right)) {
    const owner = walker.scopes.meaning(prototype[1] ?? "", walker.scopes.current);
    if (typeof owner === "object") {
      const definition = walker.define(prototype[2] ?? "", "method", left, node, {
        parent: owner.definition,
        scope: -1,
        exported: true,
      });
      functionBody(walker, right, definition);
      return;
    }
  } else if (name.startsWith("this.")) defineField(walker, left, node, right);
  use(walker, left, "write");
  if (walker.type(left).endsWith("_pattern"))
    bindPattern(walker, left, walker.expression(right), walker.scopes.current);
  walker.visit(right);
};

/** JavaScript declares no fields: the first assignment to `this.name` does. */
const defineField = (walker: Walker, left: number, node: number, value: number): void => {
  const name = walker.text(walker.field(left, "property"));
  const { scopes } = walker;
  let owner = scopes.definition;
  while (owner >= 0 && walker.kindOf(owner) !== "class") owner = walker.parentOf(owner);
  if (owner < 0 || walker.type(walker.field(left, "object")) !== "this" || name === "") return;
  if (walker.member(owner, name) < 0)
    walker.define(name, "field", left, node, {
      parent: owner,
      scope: -1,
      exported: !name.startsWith("#"),
      type: walker.expression(value),
    });
  else walker.setType(walker.member(owner, name), walker.expression(value));
};

const exportAll = (walker: Walker, value: number): void => {
  if (walker.type(value) === "identifier") {
    walker.import({ source: "", name: walker.text(value), local: "export=", exported: true }, value);
    return;
  }
  if (walker.type(value) !== "object") return;
  for (const part of walker.children(value)) {
    const isPair = walker.type(part) === "pair";
    const local = walker.text(isPair ? walker.field(part, "key") : part);
    const name = walker.text(isPair ? walker.field(part, "value") : part);
    if (/^[\w$]+$/.test(name)) walker.import({ source: "", name, local, exported: true }, part);
  }
};
