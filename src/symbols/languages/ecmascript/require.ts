import { type Expression, step, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";
import { bindPattern } from "./patterns.ts";

const FILE_SCOPE = 0;

/** The source of `require("./store")`; empty for anything else. */
const requiredSource = (walker: Walker, node: number): string => {
  if (walker.type(node) !== "call_expression" || walker.text(walker.field(node, "function")) !== "require")
    return "";
  const argument = walker.child(walker.field(node, "arguments"), "string");
  return argument < 0 ? "" : walker.text(argument).slice(1, -1);
};

/** `require("./store")` in the middle of an expression: an import under a name that no file can write. */
export const requiredModule = (walker: Walker, node: number): Expression => {
  const source = requiredSource(walker, node);
  return source === "" ? UNKNOWN : moduleNamed(walker, source, node);
};

/** A module by its source, as a name of this file. */
export const moduleNamed = (walker: Walker, source: string, node: number): Expression => {
  const local = `@${source.replace(/[.([^]/g, "%")}`;
  if (walker.scopes.meaning(local, FILE_SCOPE) === "unbound")
    walker.import({ source, name: "", local }, node, FILE_SCOPE);
  return local;
};

/** What `require("./store").open` names; undefined for anything else. */
export const requiredName = (
  walker: Walker,
  node: number,
): { readonly source: string; readonly name: string } | undefined => {
  const isMember = walker.type(node) === "member_expression";
  const source = requiredSource(walker, isMember ? walker.field(node, "object") : node);
  return source === ""
    ? undefined
    : { source, name: isMember ? walker.text(walker.field(node, "property")) : "" };
};

/** `const store = require("./store")`, `const { open } = require("./store")`, `const open = require("./store").open` */
export const importRequired = (walker: Walker, name: number, value: number): boolean => {
  const required = requiredName(walker, value);
  if (required === undefined) return false;
  if (walker.type(name) === "identifier") {
    walker.import({ ...required, local: walker.text(name) }, name);
    return true;
  }
  if (walker.type(name) !== "object_pattern" || required.name !== "") return false;
  for (const part of walker.children(name)) importPart(walker, part, value, required.source);
  return true;
};

const importPart = (walker: Walker, part: number, value: number, source: string): void => {
  const { current } = walker.scopes;
  switch (walker.type(part)) {
    case "shorthand_property_identifier_pattern":
      walker.import({ source, name: walker.text(part), local: walker.text(part) }, part);
      return;
    case "object_assignment_pattern":
      importPart(walker, walker.field(part, "left"), value, source);
      walker.visitField(part, "right");
      return;
    case "pair_pattern": {
      const key = walker.text(walker.field(part, "key"));
      const target = walker.field(part, "value");
      if (walker.type(target) === "identifier")
        walker.import({ source, name: key, local: walker.text(target) }, part);
      else bindPattern(walker, target, step(requiredModule(walker, value), `.${key}`), current);
      return;
    }
    case "rest_pattern":
      bindPattern(walker, part, UNKNOWN, current);
      return;
  }
};
