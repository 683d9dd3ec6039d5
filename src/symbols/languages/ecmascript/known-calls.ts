import { UNKNOWN } from "../../extract/expression.ts";
import { SPREAD } from "../../extract/file-symbols.ts";
import type { Walker } from "../../extract/walker.ts";
import { exportObject, exportProperty } from "./commonjs.ts";
import { isFunction } from "./functions.ts";
import { ownerOf } from "./owners.ts";
import { defineProperty, holdLater, objectMembers } from "./properties.ts";
import { requiredModule } from "./require.ts";

type KnownCall = (walker: Walker, given: readonly number[], node: number) => boolean;

const isExports = (walker: Walker, node: number): boolean => /^(?:module\.)?exports$/.test(walker.text(node));

const stringOf = (walker: Walker, node: number): string =>
  walker.type(node) === "string" ? walker.text(node).slice(1, -1) : "";

const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** `Object.assign(Store.prototype, { open () {} }, mixin)` */
const assign: KnownCall = (walker, [target = -1, ...sources]) => {
  const owner = ownerOf(walker, target);
  const toExports = isExports(walker, target);
  if (owner < 0 && !toExports) return false;
  walker.visit(target);
  for (const source of sources) {
    if (walker.type(source) !== "object") {
      walker.visit(source);
      if (owner >= 0) holdLater(walker, owner, SPREAD, source, walker.expression(source));
    } else if (toExports) exportObject(walker, source);
    else {
      walker.scopes.enter("block", owner);
      objectMembers(walker, source);
      walker.scopes.leave();
    }
  }
  return true;
};

/** What a property descriptor holds: its value, or what its getter returns. */
const described = (
  walker: Walker,
  descriptor: number,
): { readonly value: number; readonly rest: number[] } => {
  let value = -1;
  const rest: number[] = [];
  for (const part of walker.type(descriptor) === "object" ? walker.children(descriptor) : []) {
    const key = walker.text(walker.field(part, walker.type(part) === "pair" ? "key" : "name"));
    const isPair = walker.type(part) === "pair";
    if ((key === "value" || key === "get") && value < 0) value = isPair ? walker.field(part, "value") : part;
    else rest.push(part);
  }
  return { value, rest };
};

/** `Object.defineProperty(Store.prototype, "size", { get () {} })` */
const defineOne: KnownCall = (walker, [target = -1, key = -1, descriptor = -1], node) => {
  const owner = ownerOf(walker, target);
  const name = stringOf(walker, key);
  const toExports = isExports(walker, target);
  const { value, rest } = described(walker, descriptor);
  if ((owner < 0 && !toExports) || !NAME.test(name) || value < 0) return false;
  walker.visit(target);
  if (toExports) exportProperty(walker, name, key, node, value);
  else defineProperty(walker, { owner, name, nameNode: key, whole: node, value });
  for (const part of rest) walker.visit(part);
  return true;
};

/** `Object.defineProperties(Store.prototype, { size: { get () {} } })` */
const defineAll: KnownCall = (walker, [target = -1, descriptors = -1]) => {
  const owner = ownerOf(walker, target);
  if (owner < 0 || walker.type(descriptors) !== "object") return false;
  walker.visit(target);
  for (const part of walker.children(descriptors)) {
    const key = walker.field(part, "key");
    const { value, rest } = described(walker, walker.field(part, "value"));
    if (value < 0 || walker.type(key) !== "property_identifier") walker.visit(part);
    else {
      defineProperty(walker, { owner, name: walker.text(key), nameNode: key, whole: part, value });
      for (const other of rest) walker.visit(other);
    }
  }
  return true;
};

/** `util.inherits(Child, Parent)`, `Object.setPrototypeOf(Child.prototype, Parent.prototype)` */
const inherits: KnownCall = (walker, [child = -1, parent = -1]) => {
  const owner = ownerOf(walker, child);
  if (owner < 0) return false;
  const isPrototype = walker.type(parent) === "member_expression";
  const type = isPrototype ? walker.field(parent, "object") : parent;
  if (walker.type(type) !== "identifier") return false;
  walker.visit(child);
  walker.refer(walker.text(type), type, "inherit", "", owner);
  return true;
};

/** `app.decorate("name", function () {})` of fastify: whoever has the instance can call it by that name. */
const decorate = (walker: Walker, receiver: number, given: readonly number[], node: number): boolean => {
  const [key = -1, value = -1] = given;
  const name = stringOf(walker, key);
  if (!NAME.test(name) || value < 0 || walker.type(receiver) !== "identifier") return false;
  walker.visit(receiver);
  const holdsFunction = isFunction(walker, value);
  const definition = walker.define(name, holdsFunction ? "method" : "field", key, node, {
    attachedTo: walker.text(receiver),
    exported: true,
    scope: -1,
    ...(holdsFunction ? {} : { type: walker.expression(value) }),
  });
  walker.scopes.enter("block", definition >= 0 ? definition : undefined);
  for (const argument of given) walker.visit(argument);
  walker.scopes.leave();
  return true;
};

const CALLS: ReadonlyMap<string, KnownCall> = new Map([
  ["Object.assign", assign],
  ["Object.defineProperty", defineOne],
  ["Object.defineProperties", defineAll],
  ["Object.setPrototypeOf", inherits],
  ["util.inherits", inherits],
  ["inherits", inherits],
]);

const DECORATORS = new Set(["decorate", "decorateRequest", "decorateReply"]);

/** Calls that define something. False: an ordinary call. */
export const knownCall = (walker: Walker, node: number): boolean => {
  const called = walker.field(node, "function");
  const isMember = walker.type(called) === "member_expression";
  if (!isMember && walker.type(called) !== "identifier") return false;
  const property = walker.text(isMember ? walker.field(called, "property") : called);
  if (property === "require" && !isMember) return requiredModule(walker, node) !== UNKNOWN;
  if (isMember && DECORATORS.has(property)) {
    const given = walker.children(walker.field(node, "arguments"));
    const receiver = walker.field(called, "object");
    if (!decorate(walker, receiver, given, node)) return false;
    walker.refer(property, walker.field(called, "property"), "call", walker.expression(receiver));
    return true;
  }
  const known = KNOWN_NAMES.has(property) ? CALLS.get(walker.text(called)) : undefined;
  return known?.(walker, walker.children(walker.field(node, "arguments")), node) === true;
};

/** The last parts of the names above: most calls are distinguished without reading the whole name. */
const KNOWN_NAMES = new Set([...CALLS.keys()].map((name) => name.slice(name.lastIndexOf(".") + 1)));
