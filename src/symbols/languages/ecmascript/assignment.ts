import { UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { exportModule, exportProperty } from "./commonjs.ts";
import { functionBody, isFunction } from "./functions.ts";
import { writtenType } from "./jsdoc.ts";
import { ownerOf } from "./owners.ts";
import { bindPattern } from "./patterns.ts";
import { defineProperty, objectMembers } from "./properties.ts";
import { use } from "./use.ts";

export const assignment: Handler = (walker, node) => {
  const left = walker.field(node, "left");
  const right = walker.field(node, "right");
  const kind = walker.type(left);
  if (kind === "member_expression" && assignMember(walker, left, right, node)) return;
  use(walker, left, "write");
  if (kind.endsWith("_pattern")) bindPattern(walker, left, walker.expression(right), walker.scopes.current);
  walker.visit(right);
};

const isExports = (text: string): boolean => text === "exports" || text === "module.exports";

/** JavaScript defines much by assignment: what a module exports, methods of prototypes, fields, properties of functions. */
const assignMember = (walker: Walker, left: number, right: number, node: number): boolean => {
  const object = walker.field(left, "object");
  const name = walker.text(walker.field(left, "property"));
  // `exports.a = exports.b = value`: each names the value, and the innermost defines it.
  let value = right;
  while (walker.type(value) === "assignment_expression") value = walker.field(value, "right");
  const isChain = value !== right;
  if (isChain && walker.type(value) !== "identifier") return false;
  const objectText = walker.text(object);
  if (objectText === "module" && name === "exports") exportModule(walker, value, node);
  else if (isExports(objectText)) exportProperty(walker, name, left, node, value);
  else if (walker.type(object) === "this") return defineField(walker, left, node, value);
  else {
    const isPrototype = name === "prototype";
    const owner = ownerOf(walker, isPrototype ? left : object);
    if (owner < 0 || walker.member(owner, name) >= 0) return false;
    walker.visit(object);
    if (isPrototype) assignPrototype(walker, owner, value);
    else defineProperty(walker, { owner, name, nameNode: left, whole: node, value });
  }
  if (isChain) walker.visit(right);
  return true;
};

/** `Child.prototype = Object.create(Parent.prototype)`, `Child.prototype = new Parent()` */
const PARENT = /^(?:Object\.create\(\s*|new\s+)([\w$]+)(?:\.prototype\b|\(|$)/;

/** `Store.prototype = { open () {} }` */
const assignPrototype = (walker: Walker, owner: number, value: number): void => {
  const parent = PARENT.exec(walker.text(value))?.[1];
  walker.scopes.enter("block", owner);
  if (walker.type(value) === "object") objectMembers(walker, value);
  else walker.visit(value);
  if (parent !== undefined) walker.refer(parent, value, "inherit", "", owner);
  walker.scopes.leave();
};

/** JavaScript declares no fields: the first assignment to `this.name` does. */
const defineField = (walker: Walker, left: number, node: number, value: number): boolean => {
  const name = walker.text(walker.field(left, "property"));
  const owner = ownerOf(walker, walker.field(left, "object"));
  if (owner < 0 || name === "") return false;
  const known = walker.member(owner, name);
  if (known >= 0) {
    walker.setType(known, walker.expression(value));
    return false;
  }
  const isMethod = isFunction(walker, value);
  const written = writtenType(walker, left);
  const definition = walker.define(name, isMethod ? "method" : "field", left, node, {
    parent: owner,
    scope: -1,
    exported: !name.startsWith("#"),
    ...(isMethod ? {} : { type: written === UNKNOWN ? walker.expression(value) : written }),
  });
  if (!isMethod) return false;
  functionBody(walker, value, definition);
  return true;
};
