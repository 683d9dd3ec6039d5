import { type Expression, FOREIGN, step, UNKNOWN } from "../extract/expression.ts";
import type { ReferenceKind, SymbolKind } from "../extract/file-symbols.ts";
import type { Handler, Walker } from "../extract/walker.ts";
import { writtenType } from "./written-type.ts";

/** A child by field name, or the first one of these types. */
export type Selector = string | readonly string[];

export const pick = (walker: Walker, node: number, selector: Selector | undefined): number => {
  if (selector === undefined || node < 0) return -1;
  return typeof selector === "string" ? walker.field(node, selector) : walker.child(node, ...selector);
};

export const firstOf = (walker: Walker, node: number): number => walker.tree.firstChild[node] ?? -1;

/** Visits the children that are not done yet. */
export const visitOthers = (walker: Walker, node: number, ...done: readonly number[]): void => {
  for (const child of walker.children(node)) if (!done.includes(child)) walker.visit(child);
};

export type Exported = (walker: Walker, name: string, node: number) => boolean;

const HIDDEN = /\b(?:private|fileprivate|local)\b/;

/** No keyword before the name makes it private. */
export const unlessPrivate: Exported = (walker, _name, node) =>
  !HIDDEN.test(walker.text(node).slice(0, 60).split(/[({=]/)[0] ?? "");

/** A class, interface or enum: its members are symbols, and its methods see them. */
export const typeDefinition =
  (kind: SymbolKind, name: Selector = "name", exported: Exported = unlessPrivate): Handler =>
  (walker, node) => {
    const at = pick(walker, node, name);
    const text = walker.text(at);
    const definition = walker.define(text, kind, at, node, { exported: exported(walker, text, node) });
    walker.scopes.enter("class", definition >= 0 ? definition : undefined);
    visitOthers(walker, node, at);
    walker.scopes.leave();
  };

export interface FunctionShape {
  readonly name?: Selector;
  readonly result?: Selector;
  readonly exported?: Exported;
  /** A constructor: its plain name means the class. */
  readonly constructs?: boolean;
}

export const functionDefinition =
  ({ name = "name", result, exported = unlessPrivate, constructs = false }: FunctionShape = {}): Handler =>
  (walker, node) => {
    const { scopes } = walker;
    const at = pick(walker, node, name);
    const text = walker.text(at);
    const inClass = scopes.kind === "class";
    const definition = walker.define(text, inClass ? "method" : "function", at, node, {
      exported: exported(walker, text, node),
      ...(constructs ? { scope: -1 } : {}),
    });
    scopes.enter("function", definition >= 0 ? definition : undefined);
    const written = pick(walker, node, result);
    if (written >= 0) walker.setType(definition, writtenType(walker.text(written)));
    visitOthers(walker, node, at);
    scopes.leave();
  };

export const block: Handler = (walker, node) => {
  walker.scopes.enter("block");
  walker.visitChildren(node);
  walker.scopes.leave();
};

/** A function without a name. */
export const closure: Handler = (walker, node) => {
  walker.scopes.enter("function");
  walker.visitChildren(node);
  walker.scopes.leave();
};

export interface VariableShape {
  readonly name?: Selector;
  readonly type?: Selector;
  readonly value?: Selector;
  /** The variable is an element of the value: `for`. */
  readonly each?: boolean;
}

/** Binds a name: a field in a class, a variable at the top, a local in a function. */
export const bindName = (walker: Walker, at: number, type: Expression, whole: number): void => {
  const { scopes } = walker;
  const text = walker.text(at).replace(/^\$/, "");
  const scope = scopes.nearest("function", "class", "file");
  const kind = scopes.kindOf(scope);
  if (kind === "function" || text === "" || text === "_") {
    scopes.bindLocal(text, type === UNKNOWN ? "" : type);
    return;
  }
  const isConstant = /^[A-Z][A-Z\d_]*$/.test(text);
  walker.define(text, kind === "class" ? "field" : isConstant ? "constant" : "variable", at, whole, {
    exported: unlessPrivate(walker, text, whole),
    type: type === UNKNOWN ? "" : type,
    scope,
  });
};

export const variable =
  ({ name = "name", type, value, each = false }: VariableShape = {}): Handler =>
  (walker, node) => {
    const at = pick(walker, node, name);
    const written = pick(walker, node, type);
    const given = pick(walker, node, value);
    let known = written >= 0 ? writtenType(walker.text(written)) : UNKNOWN;
    if (known === UNKNOWN && given >= 0)
      known = each ? step(walker.expression(given), "[]") : walker.expression(given);
    bindName(walker, at, known, node);
    visitOthers(walker, node, at);
  };

/** A parameter: always a local. */
export const parameter =
  (name: Selector = "name", type: Selector = "type"): Handler =>
  (walker, node) => {
    const at = pick(walker, node, name);
    const written = pick(walker, node, type);
    walker.scopes.bindLocal(
      walker.text(at).replace(/^\$/, ""),
      written < 0 ? "" : writtenType(walker.text(written)),
    );
    visitOthers(walker, node, at);
  };

/** Another name for a type. */
export const typeAlias =
  (name: Selector = "name", type: Selector = "type"): Handler =>
  (walker, node) => {
    const at = pick(walker, node, name);
    const written = pick(walker, node, type);
    const known = writtenType(walker.text(written));
    walker.define(walker.text(at), "type", at, node, { exported: true, type: known });
    walker.visit(written);
  };

/** The parts of `object.name`. */
export interface MemberShape {
  readonly object: Selector;
  readonly name: Selector;
}

export const useMember = (walker: Walker, node: number, shape: MemberShape, kind: ReferenceKind): void => {
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

/** The arguments of a call, where they are a list with this field name. */
export const argumentsOf = (walker: Walker, call: number): readonly number[] => {
  const list = walker.field(call, "arguments");
  return list < 0 ? [] : walker.children(list);
};

/** Leaves that name a type, inside of generics and scopes too. */
const namesOfTypes = (walker: Walker, node: number, leaves: ReadonlySet<string>): readonly number[] => {
  if (leaves.has(walker.type(node))) return [node];
  return [...walker.children(node)].flatMap((child) => namesOfTypes(walker, child, leaves));
};

/** `extends A, B<C>`: A and B are inherited, C is only named. */
export const inherits =
  (leaves: readonly string[], skipped: readonly string[] = []): Handler =>
  (walker, node) => {
    const wanted = new Set(leaves);
    const visit = (at: number, kind: ReferenceKind): void => {
      const type = walker.type(at);
      if (wanted.has(type)) walker.refer(walker.text(at), at, kind);
      else if (skipped.includes(type) || /argument/.test(type)) walker.visit(at);
      else {
        const scoped = /scoped|qualified|nested/.test(type);
        const children = [...walker.children(at)];
        for (const child of children) visit(child, scoped && child !== children.at(-1) ? "type" : kind);
      }
    };
    for (const child of walker.children(node)) visit(child, "inherit");
  };

export const refersTo =
  (kind: ReferenceKind): Handler =>
  (walker, node) =>
    walker.refer(walker.text(node).replace(/^\$/, ""), node, kind);

export const returns =
  (value?: Selector): Handler =>
  (walker, node) => {
    const given = value === undefined ? firstOf(walker, node) : pick(walker, node, value);
    walker.visitChildren(node);
    const { scopes } = walker;
    const scope = scopes.nearest("function");
    const around = scopes.definitionOf(scope);
    if (given >= 0 && around >= 0 && scopes.definitionOf(scopes.parentOf(scope)) !== around)
      walker.setType(around, walker.expression(given));
  };

export const skip: Handler = () => undefined;

export const removeSpaces = (text: string): string => text.replace(/\s+/g, "");

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
