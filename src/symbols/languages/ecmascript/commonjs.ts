import type { Walker } from "../../extract/walker.ts";
import { classBody } from "./class-body.ts";
import { functionBody, isFunction } from "./functions.ts";
import { memberName } from "./members.ts";
import { defineProperty } from "./properties.ts";
import { requiredName } from "./require.ts";

/** Name under which a module offers itself as one value. */
export const WHOLE_MODULE = "export=";

/** Name of what `module.exports` is set to, where that has none. */
const NAMELESS = "exports";

/** `exports.open = …`, and a property of the object that `module.exports` is set to. */
export const exportProperty = (
  walker: Walker,
  name: string,
  nameNode: number,
  whole: number,
  value: number,
): void => {
  const required = requiredName(walker, value);
  if (required !== undefined) walker.import({ ...required, local: name, exported: true }, nameNode);
  else if (/^(?:shorthand_property_)?identifier$/.test(walker.type(value))) {
    if (walker.text(value) === "undefined") return;
    walker.import({ source: "", name: walker.text(value), local: name, exported: true }, nameNode);
    walker.visit(value);
  } else defineProperty(walker, { owner: -1, name, nameNode, whole, value });
};

/** `module.exports = { … }` */
export const exportObject = (walker: Walker, object: number): void => {
  for (const part of walker.children(object)) {
    const key = walker.field(part, "key");
    switch (walker.type(part)) {
      case "shorthand_property_identifier":
        exportProperty(walker, walker.text(part), part, part, part);
        break;
      case "method_definition": {
        const name = walker.field(part, "name");
        const definition = walker.define(memberName(walker, name), "function", name, part, {
          parent: -1,
          scope: -1,
          exported: true,
        });
        functionBody(walker, part, definition);
        break;
      }
      case "spread_element": {
        const spread = walker.tree.firstChild[part] ?? -1;
        const required = requiredName(walker, spread);
        if (required?.name === "")
          walker.import({ source: required.source, name: "*", local: "*", exported: true }, part);
        else walker.visit(spread);
        break;
      }
      case "pair": {
        const name = memberName(walker, key);
        if (name === "") walker.visit(part);
        else exportProperty(walker, name, key, part, walker.field(part, "value"));
        break;
      }
      default:
        walker.visit(part);
    }
  }
};

/** `module.exports = …` */
export const exportModule = (walker: Walker, value: number, node: number): void => {
  const required = requiredName(walker, value);
  const offer = (name: string): void =>
    walker.import({ source: "", name, local: WHOLE_MODULE, exported: true }, value);
  if (required !== undefined) walker.import({ ...required, local: WHOLE_MODULE, exported: true }, value);
  else if (walker.type(value) === "identifier") {
    offer(walker.text(value));
    walker.visit(value);
  } else if (walker.type(value) === "object") exportObject(walker, value);
  else {
    const written = walker.field(value, "name");
    const isClass = walker.type(value) === "class";
    const isNamed = written >= 0 && (isClass || isFunction(walker, value));
    const name = isNamed ? walker.text(written) : NAMELESS;
    const nameNode = isNamed ? written : node;
    offer(name);
    const options = { parent: -1, exported: true, ...(isNamed ? {} : { scope: -1 }) };
    if (isClass) classBody(walker, value, walker.define(name, "class", nameNode, node, options));
    else if (isFunction(walker, value))
      functionBody(walker, value, walker.define(name, "function", nameNode, node, options));
    else defineProperty(walker, { owner: -1, name, nameNode, whole: node, value });
  }
};
