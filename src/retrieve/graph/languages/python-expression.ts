import { collectionOf, type Expression, FOREIGN, instanceOf, step, UNKNOWN } from "../expression.ts";
import type { Walker } from "../walker.ts";

const first = (walker: Walker, node: number): number => walker.tree.firstChild[node] ?? -1;

const BUILTIN = new Set(["str", "int", "float", "bool", "bytes", "None", "complex", "bytearray"]);
const TRANSPARENT =
  /^(?:(?:typing|t|te|typing_extensions)\.)?(?:Optional|Annotated|Final|ClassVar|Awaitable|Coroutine|Required|NotRequired|ReadOnly)$/;
const COLLECTION =
  /^(?:(?:typing|t|collections(?:\.abc)?)\.)?(?:[Ll]ist|[Ss]et|[Tt]uple|[Ff]rozen[Ss]et|Sequence|MutableSequence|Iterable|Iterator|Collection|AsyncIterable|AsyncIterator|Generator|AsyncGenerator|[Dd]eque|AbstractSet)$/;
const MAPPING =
  /^(?:(?:typing|t|collections(?:\.abc)?)\.)?(?:[Dd]ict|Mapping|MutableMapping|[Dd]efault[Dd]ict|OrderedDict)$/;

const argumentsOf = (walker: Walker, node: number): readonly number[] => {
  if (walker.type(node) === "subscript")
    return [...walker.children(node)]
      .slice(1)
      .flatMap((child) => (walker.type(child) === "tuple" ? [...walker.children(child)] : [child]));
  const list = walker.child(node, "type_parameter");
  return list < 0 ? [] : walker.children(list);
};

/** What a value of a written type is. */
export const pythonType = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "type":
    case "parenthesized_expression":
      return pythonType(walker, first(walker, node));
    case "identifier": {
      const name = walker.text(node);
      if (BUILTIN.has(name)) return FOREIGN;
      if (name === "Self") return "this";
      return name === "Any" || name === "object" ? UNKNOWN : instanceOf(name);
    }
    case "attribute":
    case "member_type": {
      const path = walker.text(node).replace(/\s+/g, "");
      return /^[\w.]+$/.test(path) ? instanceOf(path) : UNKNOWN;
    }
    case "string": {
      const path = walker
        .text(node)
        .replace(/^[rbuf]*['"]+|['"]+$/gi, "")
        .replace(/\s*\|\s*None$/, "");
      const optional = /^Optional\[(.+)\]$/.exec(path)?.[1] ?? path;
      return /^[\w.]+$/.test(optional) ? instanceOf(optional) : UNKNOWN;
    }
    case "generic_type":
    case "subscript": {
      const head = walker.text(first(walker, node)).replace(/\s+/g, "");
      const given = argumentsOf(walker, node);
      if (TRANSPARENT.test(head))
        return pythonType(walker, /Coroutine$/.test(head) ? (given[2] ?? -1) : (given[0] ?? -1));
      if (/(?:^|\.)Union$/.test(head)) return union(walker, given);
      if (COLLECTION.test(head)) return collectionOf(pythonType(walker, given[0] ?? -1));
      if (MAPPING.test(head)) return collectionOf(pythonType(walker, given[1] ?? -1));
      if (/(?:^|\.)(?:type|Type)$/.test(head)) {
        const name = walker.text(given[0] ?? -1);
        return /^[\w.]+$/.test(name) ? name : UNKNOWN;
      }
      return /^[\w.]+$/.test(head) ? instanceOf(head) : UNKNOWN;
    }
    case "union_type":
    case "binary_operator":
      return union(walker, [...walker.children(node)]);
    case "none":
      return FOREIGN;
    default:
      return UNKNOWN;
  }
};

const union = (walker: Walker, parts: readonly number[]): Expression => {
  let fallback: Expression = UNKNOWN;
  for (const part of parts) {
    const found = pythonType(walker, part);
    if (found === FOREIGN) fallback = FOREIGN;
    else if (found !== UNKNOWN) return found;
  }
  return fallback;
};

/** What the value of an expression is. */
export const pythonExpression = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "identifier":
      return walker.text(node);
    case "attribute":
      return step(
        walker.expression(walker.field(node, "object")),
        `.${walker.text(walker.field(node, "attribute"))}`,
      );
    case "call": {
      const called = walker.field(node, "function");
      const name = walker.text(called);
      if (name === "super") return "super";
      if (name === "cast" || name === "typing.cast" || name === "t.cast")
        return pythonType(walker, first(walker, walker.field(node, "arguments")));
      return step(walker.expression(called), "()");
    }
    case "subscript":
      return step(walker.expression(walker.field(node, "value")), "[]");
    case "parenthesized_expression":
    case "await":
      return walker.expression(first(walker, node));
    case "named_expression":
      return walker.expression(walker.field(node, "value"));
    case "conditional_expression":
    case "boolean_operator": {
      const parts = [...walker.children(node)];
      const found = walker.expression(parts[0] ?? -1);
      return found === UNKNOWN || found === FOREIGN ? walker.expression(parts.at(-1) ?? -1) : found;
    }
    case "list":
    case "set":
    case "tuple": {
      const element = first(walker, node);
      return collectionOf(element < 0 ? UNKNOWN : walker.expression(element));
    }
    case "string":
    case "concatenated_string":
    case "integer":
    case "float":
    case "true":
    case "false":
    case "none":
    case "dictionary":
    case "comparison_operator":
    case "not_operator":
    case "lambda":
      return FOREIGN;
    default:
      return UNKNOWN;
  }
};
