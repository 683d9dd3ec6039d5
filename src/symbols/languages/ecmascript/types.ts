import { collectionOf, type Expression, FOREIGN, instanceOf, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";

/** Wrappers that are treated as what they contain. */
const TRANSPARENT = new Set(
  `Promise PromiseLike Awaited Readonly Partial Required NonNullable Ref Pick Omit DeepReadonly`.split(/\s+/),
);

const COLLECTIONS = new Set(
  `Array ReadonlyArray Set ReadonlySet Iterable AsyncIterable Iterator IterableIterator Generator
    AsyncGenerator`.split(/\s+/),
);

const MAPS = new Set(["Map", "ReadonlyMap", "WeakMap", "Record"]);

const argumentsOf = (walker: Walker, node: number): readonly number[] => {
  const list = walker.child(node, "type_arguments");
  return list < 0 ? [] : walker.children(list);
};

/** What a value of a written type is. */
export const typeOf = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "type_annotation":
    case "parenthesized_type":
    case "readonly_type":
    case "asserts_annotation":
      return typeOf(walker, walker.tree.firstChild[node] ?? -1);
    case "type_identifier":
    case "identifier":
      return instanceOf(walker.text(node));
    case "nested_type_identifier":
      return instanceOf(walker.text(node).replace(/\s+/g, ""));
    case "predefined_type":
    case "literal_type":
    case "template_literal_type":
      return /^(?:any|unknown|object)$/.test(walker.text(node)) ? UNKNOWN : FOREIGN;
    case "function_type":
      return UNKNOWN;
    case "this_type":
      return "this";
    case "array_type":
      return collectionOf(typeOf(walker, walker.tree.firstChild[node] ?? -1));
    case "tuple_type":
      return collectionOf(UNKNOWN);
    case "generic_type": {
      const name = walker.text(walker.field(node, "name"));
      const given = argumentsOf(walker, node);
      if (TRANSPARENT.has(name)) return typeOf(walker, given[0] ?? -1);
      if (COLLECTIONS.has(name)) return collectionOf(typeOf(walker, given[0] ?? -1));
      if (MAPS.has(name)) return collectionOf(typeOf(walker, given[1] ?? -1));
      if (name === "ReturnType" && walker.type(given[0] ?? -1) === "type_query")
        return `${walker.text(walker.tree.firstChild[given[0] ?? -1] ?? -1).replace(/\s+/g, "")}()`;
      return instanceOf(name.replace(/\s+/g, ""));
    }
    case "type_query": {
      const inner = walker.text(walker.tree.firstChild[node] ?? -1);
      return /^[\w$.]+$/.test(inner) ? inner : UNKNOWN;
    }
    case "union_type":
    case "intersection_type": {
      let fallback: Expression = UNKNOWN;
      for (const part of walker.children(node)) {
        const found = typeOf(walker, part);
        if (found === FOREIGN) fallback = FOREIGN;
        else if (found !== UNKNOWN) return found;
      }
      return fallback;
    }
    default:
      return UNKNOWN;
  }
};
