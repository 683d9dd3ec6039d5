import { collectionOf, type Expression, FOREIGN, instanceOf, UNKNOWN } from "../../extract/expression.ts";
import type { Walker } from "../../extract/walker.ts";
import { firstPart, parts } from "./use.ts";

const BUILTIN = new Set(["str", "int", "float", "bool", "bytes", "None", "complex", "bytearray"]);
const TRANSPARENT =
  /^(?:(?:typing|t|te|typing_extensions)\.)?(?:Optional|Annotated|Final|ClassVar|Awaitable|Coroutine|Required|NotRequired|ReadOnly)$/;
const COLLECTION =
  /^(?:(?:typing|t|collections(?:\.abc)?)\.)?(?:[Ll]ist|[Ss]et|[Tt]uple|[Ff]rozen[Ss]et|Sequence|MutableSequence|Iterable|Iterator|Collection|AsyncIterable|AsyncIterator|Generator|AsyncGenerator|[Dd]eque|AbstractSet)$/;
const MAPPING =
  /^(?:(?:typing|t|collections(?:\.abc)?)\.)?(?:[Dd]ict|Mapping|MutableMapping|[Dd]efault[Dd]ict|OrderedDict)$/;

/** Longer or deeper quoted annotations are not written by hand. */
const MAX_QUOTED = 300;
const MAX_DEPTH = 8;

/** How to read a part of a type: a node of the tree, or a piece of quoted text. */
interface Reading<T> {
  typeOf(part: T): Expression;
  textOf(part: T): string;
}

const named = (name: string): Expression => {
  if (BUILTIN.has(name)) return FOREIGN;
  if (/^(?:(?:typing|t|te|typing_extensions)\.)?Self$/.test(name)) return "this";
  return name === "Any" || name === "object" || !/^[\w.]+$/.test(name) ? UNKNOWN : instanceOf(name);
};

const union = <T>(parts: readonly T[], { typeOf }: Reading<T>): Expression => {
  let fallback: Expression = UNKNOWN;
  for (const part of parts) {
    const found = typeOf(part);
    if (found === FOREIGN) fallback = FOREIGN;
    else if (found !== UNKNOWN) return found;
  }
  return fallback;
};

const applied = <T>(head: string, given: readonly T[], reading: Reading<T>): Expression => {
  const at = (index: number): Expression => {
    const part = given[index];
    return part === undefined ? UNKNOWN : reading.typeOf(part);
  };
  if (TRANSPARENT.test(head)) return at(/Coroutine$/.test(head) ? 2 : 0);
  if (/(?:^|\.)Union$/.test(head)) return union(given, reading);
  if (COLLECTION.test(head)) return collectionOf(at(0));
  if (MAPPING.test(head)) return collectionOf(at(1));
  if (/(?:^|\.)(?:type|Type)$/.test(head)) {
    const name = given[0] === undefined ? "" : reading.textOf(given[0]);
    return /^[\w.]+$/.test(name) ? name : UNKNOWN;
  }
  return /^[\w.]+$/.test(head) ? instanceOf(head) : UNKNOWN;
};

/** The text between the quotes; empty for format strings. */
export const quoted = (walker: Walker, node: number): string =>
  /^[ru]?(?:'''|"""|['"])([^'"\\]*)(?:'''|"""|['"])$/i.exec(walker.text(node))?.[1] ?? "";

/** Splits a text at a separator that is not inside brackets. */
const split = (text: string, at: string): readonly string[] => {
  const found: string[] = [];
  let depth = 0;
  let from = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? "";
    if (character === "[" || character === "(") depth++;
    else if (character === "]" || character === ")") depth--;
    else if (character === at && depth === 0) {
      found.push(text.slice(from, index));
      from = index + 1;
    }
  }
  found.push(text.slice(from));
  return found;
};

/** The same for a quoted annotation, which the grammar does not parse. */
const quotedType = (text: string, depth = MAX_DEPTH): Expression => {
  if (text.length > MAX_QUOTED || depth <= 0) return UNKNOWN;
  const reading: Reading<string> = {
    typeOf: (part) => quotedType(part.trim(), depth - 1),
    textOf: (part) => part.trim(),
  };
  const options = split(text, "|");
  if (options.length > 1) return union(options, reading);
  const generic = /^([\w.]+)\[(.*)\]$/s.exec(text);
  return generic === null ? named(text) : applied(generic[1] ?? "", split(generic[2] ?? "", ","), reading);
};

const argumentsOf = (walker: Walker, node: number): readonly number[] => {
  if (walker.type(node) === "subscript")
    return parts(walker, node)
      .slice(1)
      .flatMap((child) => (walker.type(child) === "tuple" ? parts(walker, child) : [child]));
  const list = walker.child(node, "type_parameter");
  return list < 0 ? [] : parts(walker, list);
};

const readingOf = (walker: Walker): Reading<number> => ({
  typeOf: (node) => pythonType(walker, node),
  textOf: (node) => {
    const inner = firstPart(walker, node);
    return walker.type(inner) === "string" ? quoted(walker, inner) : walker.text(node);
  },
});

/** What a value of a written type is. */
export const pythonType = (walker: Walker, node: number): Expression => {
  switch (walker.type(node)) {
    case "type":
    case "parenthesized_expression":
      return pythonType(walker, firstPart(walker, node));
    case "identifier":
      return named(walker.text(node));
    case "attribute":
    case "member_type":
      return named(walker.text(node).replace(/\s+/g, ""));
    case "string":
      return quotedType(quoted(walker, node).trim());
    case "generic_type":
    case "subscript": {
      const head = walker.text(firstPart(walker, node)).replace(/\s+/g, "");
      return applied(head, argumentsOf(walker, node), readingOf(walker));
    }
    case "union_type":
    case "binary_operator":
    case "tuple":
      return union(parts(walker, node), readingOf(walker));
    case "none":
      return FOREIGN;
    default:
      return UNKNOWN;
  }
};
