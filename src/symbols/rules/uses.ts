import { type Expression, FOREIGN, step, UNKNOWN } from "../extract/expression.ts";
import type { ReferenceKind } from "../extract/file-symbols.ts";
import type { Handler, Walker } from "../extract/walker.ts";
import { firstOf, pick, type Selector, visitOthers } from "./handlers.ts";
import { writtenType } from "./written-type.ts";

/** The parts of `object.name`. */
export interface MemberShape {
  readonly object: Selector;
  readonly name: Selector;
}

const useMember = (walker: Walker, node: number, shape: MemberShape, kind: ReferenceKind): void => {
  const object = pick(walker, node, shape.object);
  const name = pick(walker, node, shape.name);
  walker.visit(object);
  walker.refer(walker.text(name), name, kind, object < 0 ? "this" : walker.expression(object));
};

/** Node types that name something, for `use` and for expressions. */
export interface NodeTypes {
  readonly names: ReadonlySet<string>;
  readonly members: Readonly<Record<string, MemberShape>>;
  readonly wrappers: ReadonlySet<string>;
  readonly calls: Readonly<Record<string, { readonly function: Selector } | MemberShape>>;
  readonly creations: Readonly<Record<string, Selector>>;
  readonly literals: ReadonlySet<string>;
  readonly self: ReadonlySet<string>;
  readonly parent: ReadonlySet<string>;
  /** Casts, with the part that holds the type. */
  readonly casts: Readonly<Record<string, Selector>>;
  readonly elements: Readonly<Record<string, Selector>>;
}

const own = <T>(byType: Readonly<Record<string, T>>, type: string): T | undefined =>
  Object.hasOwn(byType, type) ? byType[type] : undefined;

export const use = (nodeTypes: NodeTypes, walker: Walker, node: number, kind: ReferenceKind): void => {
  const type = walker.type(node);
  const member = own(nodeTypes.members, type);
  if (member !== undefined) useMember(walker, node, member, kind);
  else if (nodeTypes.names.has(type)) walker.refer(walker.text(node).replace(/^\$/, ""), node, kind);
  else if (nodeTypes.wrappers.has(type)) use(nodeTypes, walker, firstOf(walker, node), kind);
  else walker.visit(node);
};

/** A member by itself, neither called nor written to. */
export const memberOf =
  (nodeTypes: NodeTypes, kind: ReferenceKind = "read"): Handler =>
  (walker, node) =>
    use(nodeTypes, walker, node, kind);

/** `left = right` */
export const assigns =
  (nodeTypes: NodeTypes): Handler =>
  (walker, node) => {
    use(nodeTypes, walker, walker.field(node, "left"), "write");
    walker.visitField(node, "right");
  };

export const expressionOf =
  (nodeTypes: NodeTypes) =>
  (walker: Walker, node: number): Expression => {
    const type = walker.type(node);
    if (nodeTypes.self.has(type)) return "this";
    if (nodeTypes.parent.has(type)) return "super";
    if (nodeTypes.names.has(type)) return selfName(walker.text(node).replace(/^\$/, ""));
    if (nodeTypes.literals.has(type)) return FOREIGN;
    if (nodeTypes.wrappers.has(type)) return walker.expression(firstOf(walker, node));
    const member = own(nodeTypes.members, type);
    if (member !== undefined) {
      const object = pick(walker, node, member.object);
      const name = walker.text(pick(walker, node, member.name));
      return step(object < 0 ? "this" : walker.expression(object), `.${name}`);
    }
    const call = own(nodeTypes.calls, type);
    if (call !== undefined) {
      if ("function" in call) return step(walker.expression(pick(walker, node, call.function)), "()");
      const object = pick(walker, node, call.object);
      const name = walker.text(pick(walker, node, call.name));
      return step(object < 0 ? name : step(walker.expression(object), `.${name}`), "()");
    }
    const created = own(nodeTypes.creations, type);
    if (created !== undefined) return writtenType(walker.text(pick(walker, node, created)));
    const cast = own(nodeTypes.casts, type);
    if (cast !== undefined) return writtenType(walker.text(pick(walker, node, cast)));
    const element = own(nodeTypes.elements, type);
    if (element !== undefined) return step(walker.expression(pick(walker, node, element)), "[]");
    return UNKNOWN;
  };

const selfName = (name: string): Expression => {
  if (name === "this" || name === "self" || name === "Self" || name === "static") return "this";
  return name === "parent" || name === "base" ? "super" : name;
};

export const callOf =
  (nodeTypes: NodeTypes): Handler =>
  (walker, node) => {
    const shape = nodeTypes.calls[walker.type(node)];
    if (shape === undefined) return;
    if ("function" in shape) {
      const called = pick(walker, node, shape.function);
      use(nodeTypes, walker, called, "call");
      visitOthers(walker, node, called);
      return;
    }
    const object = pick(walker, node, shape.object);
    const name = pick(walker, node, shape.name);
    walker.visit(object);
    walker.refer(walker.text(name), name, "call", object < 0 ? "" : walker.expression(object));
    visitOthers(walker, node, object, name);
  };

/** Leaves that name a type, inside of generics and scopes too. */
const namesOfTypes = (walker: Walker, node: number, leaves: ReadonlySet<string>): readonly number[] => {
  if (leaves.has(walker.type(node))) return [node];
  return [...walker.children(node)].flatMap((child) => namesOfTypes(walker, child, leaves));
};

export const creationOf = (nodeTypes: NodeTypes, leaves: readonly string[]): Handler => {
  const wanted = new Set(leaves);
  return (walker, node) => {
    const selector = nodeTypes.creations[walker.type(node)];
    const type = pick(walker, node, selector);
    const names = namesOfTypes(walker, type, wanted);
    const last = /scoped|qualified/.test(walker.type(type)) ? names.at(-1) : names[0];
    if (last !== undefined) walker.refer(walker.text(last), last, "call");
    for (const other of names) if (other !== last) walker.visit(other);
    visitOthers(walker, node, type);
  };
};
