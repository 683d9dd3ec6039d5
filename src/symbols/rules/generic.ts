import { UNKNOWN } from "../extract/expression.ts";
import type { SymbolKind } from "../extract/file-symbols.ts";
import type { Handler, Rules, Walker } from "../extract/walker.ts";
import { block, firstOf, refersTo, skip } from "./handlers.ts";

/** Node types that are definitions in most grammars, and the kind of the definition. */
const KINDS: readonly (readonly [RegExp, SymbolKind])[] = [
  [
    /^(?:class|struct|record|object|data_type|newtype|contract)(?:_(?:definition|declaration|item|specifier|statement))?$/,
    "class",
  ],
  [/^(?:interface|protocol|trait|typeclass|signature)_(?:definition|declaration|item)$/, "interface"],
  [/^(?:enum|enumeration)_(?:definition|declaration|item|specifier)$/, "enum"],
  [/^(?:type_alias|type_definition|type_declaration|type_synonym)$/, "type"],
  [/^(?:module|namespace|package)_(?:definition|declaration)$/, "module"],
  [
    /^(?:function|method|procedure|subroutine|fun|func|task|macro|local_function|function_declaration|constructor)(?:_(?:definition|declaration|item|statement|decl|clause))?$/,
    "function",
  ],
];

const kindOf = (type: string): SymbolKind | undefined => KINDS.find(([pattern]) => pattern.test(type))?.[1];

const IDENTIFIER =
  /^(?:identifier|variable|constructor|name|word|atom|sym_lit|simple_identifier|value_name|lower_case_identifier|upper_case_identifier)$/;
const TYPE_NAME = /^(?:type_identifier|type_name|type_constructor|user_type)$/;
const CALL =
  /^(?:call|call_expression|function_call|application|apply|invocation_expression|command|method_call|function_call_expression)$/;
const SKIPPED = /comment|string|^char/;

const nameOf = (walker: Walker, node: number): number => {
  for (const field of ["name", "function", "declarator"]) {
    let at = walker.field(node, field);
    for (let hops = 0; hops < 6 && at >= 0; hops++) {
      const inner = firstOf(walker, at);
      if (inner < 0) return at;
      const named = walker.field(at, "name");
      const member = walker.field(at, "field");
      at = named >= 0 ? named : member >= 0 ? member : inner;
    }
  }
  return -1;
};

const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$'!?]*$/u;

const define =
  (kind: SymbolKind): Handler =>
  (walker, node) => {
    const name = nameOf(walker, node);
    const text = walker.text(name);
    if (!PLAIN.test(text)) {
      walker.visitChildren(node);
      return;
    }
    const inClass = walker.scopes.kind === "class";
    const definition = walker.define(text, kind === "function" && inClass ? "method" : kind, name, node, {
      exported: true,
    });
    walker.scopes.enter(kind === "function" ? "function" : "class", definition >= 0 ? definition : undefined);
    for (const child of walker.children(node))
      if (walker.tree.fieldName(child) !== "name") walker.visit(child);
    walker.scopes.leave();
  };

export const genericCall: Handler = (walker, node) => {
  let called = walker.field(node, "target");
  for (const field of ["function", "name", "method"]) if (called < 0) called = walker.field(node, field);
  if (called < 0) called = firstOf(walker, node);
  let last = called;
  for (let hops = 0; hops < 6 && last >= 0 && firstOf(walker, last) >= 0; hops++) {
    const right = walker.field(last, "right");
    const member = right >= 0 ? right : walker.field(last, "field");
    last = member >= 0 ? member : ([...walker.children(last)].at(-1) ?? -1);
  }
  const name = walker.text(last);
  if (PLAIN.test(name)) walker.refer(name, last, "call");
  for (const child of walker.children(node))
    if (child !== called || firstOf(walker, called) >= 0) walker.visit(child);
};

const cache = new Map<string, Handler | undefined>();

const handlerFor = (type: string): Handler | undefined => {
  if (SKIPPED.test(type)) return skip;
  if (CALL.test(type)) return genericCall;
  if (TYPE_NAME.test(type)) return refersTo("type");
  if (IDENTIFIER.test(type)) return refersTo("read");
  if (type === "block") return block;
  const kind = kindOf(type);
  return kind === undefined ? undefined : define(kind);
};

/** For languages without rules of their own: definitions by the names of node types, and references by plain name. */
export const generic: Rules = {
  membersVisible: true,
  outerNames: true,
  expression: () => UNKNOWN,
  handlers: {
    get: (type) => {
      if (!cache.has(type)) cache.set(type, handlerFor(type));
      return cache.get(type);
    },
  },
};
