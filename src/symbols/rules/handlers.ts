import { type Expression, step, UNKNOWN } from "../extract/expression.ts";
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

/** The arguments of a call, where they are a list with this field name. */
export const argumentsOf = (walker: Walker, call: number): readonly number[] => {
  const list = walker.field(call, "arguments");
  return list < 0 ? [] : walker.children(list);
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
