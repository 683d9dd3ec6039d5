import type { Node } from "web-tree-sitter";
import type { NameRule } from "./outline-table.ts";

/** Longer ones are no names: selectors, patterns. */
const MAX_NAME_CHARS = 120;

const IDENTIFIER =
  /identifier$|^(?:name|constant|word|alias|symbol|simple_name|function_name|command_name|sym_lit|atom|variable|variable_name|package|bareword|object_reference|keyframes_name|\w+_name|pattern|operator)$/;
const FUNCTION_VALUE = /function|lambda|arrow|closure/;

const textOf = (node: Node): string => {
  const text = node.text;
  return text.length > 4 * MAX_NAME_CHARS ? "" : text;
};

/** The innermost thing that a C declarator declares: `*(*fp)(int)` gives `fp`. */
const declared = (node: Node): Node | undefined => {
  let at: Node | null = node;
  for (let depth = 0; at !== null && depth < 12; depth++) {
    if (/identifier$|_name$|^operator_cast$/.test(at.type)) return at;
    at =
      at.childForFieldName("declarator") ??
      at.namedChildren.find((child) => /declarator|identifier|_name$/.test(child.type)) ??
      null;
  }
  return undefined;
};

const firstIdentifier = (node: Node, depth = 0): Node | undefined => {
  for (const child of node.namedChildren) if (IDENTIFIER.test(child.type)) return child;
  if (depth >= 2) return undefined;
  for (const child of node.namedChildren.slice(0, 4)) {
    const found = firstIdentifier(child, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
};

const ELIXIR_DEFINES =
  /^(?:def(?:p|macro|macrop|guard|guardp|delegate|n|np)?|defmodule|defprotocol|defimpl)$/;
const LISP_DEFINES =
  /^\(?\s*(?:[\w.-]+\/)?(?:def[\w-]*|define[\w-]*|ns|function|macro)[\s(]+(?:\^\S+\s+)*\(?\s*([^\s()[\]{}"]+)/i;
/** Calls of a Lisp that start with `def` and define nothing. */
const LISP_OTHERS = /^\(?\s*(?:default|deftest-?)\b/;

interface Named {
  readonly text: string;
  readonly row: number;
}

const elixirName = (node: Node): Named | undefined => {
  const target = node.childForFieldName("target");
  if (target === null || !ELIXIR_DEFINES.test(target.text)) return undefined;
  let at = node.namedChildren.find((child) => child.type === "arguments")?.namedChild(0) ?? null;
  // `f(x) when x > 1` and `f(x)` both name f.
  for (let depth = 0; at !== null && depth < 3; depth++) {
    const inner: Node | null = at.childForFieldName("left") ?? at.childForFieldName("target");
    if (inner === null) break;
    at = inner;
  }
  return at === null ? undefined : { text: textOf(at), row: at.startPosition.row };
};

const byField = (node: Node, field: string): Node | undefined =>
  node.childForFieldName(field) ?? node.namedChildren.find((child) => child.type === field) ?? undefined;

const assigned = (node: Node): Node | undefined => {
  const left = node.childForFieldName("left") ?? node.childForFieldName("lhs") ?? node.namedChild(0);
  if (left === null) return undefined;
  const target = left.type === "variable_list" ? left.namedChild(0) : left;
  return target !== null &&
    /^(?:identifier|constant|member_expression|dot_index_expression|string|global_variable)$/.test(
      target.type,
    )
    ? target
    : undefined;
};

const receiverName = (node: Node): string => {
  const type = /([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*\)$/.exec(
    node.childForFieldName("receiver")?.text ?? "",
  )?.[1];
  const name = node.childForFieldName("name")?.text ?? "";
  return type === undefined ? name : `${type}.${name}`;
};

const named = (node: Node | undefined | null): Named | undefined =>
  node === undefined || node === null ? undefined : { text: textOf(node), row: node.startPosition.row };

const here = (node: Node, text: string | undefined): Named | undefined =>
  text === undefined ? undefined : { text, row: node.startPosition.row };

/** The name as it is written, and where; nothing where the node defines nothing that can be named. */
export const nameOf = (node: Node, rule: NameRule): Named | undefined => {
  switch (rule) {
    case "default":
      return named(node.childForFieldName("name") ?? firstIdentifier(node));
    case "declarator": {
      const declarator = node.childForFieldName("declarator");
      return named(declarator === null ? undefined : declared(declarator));
    }
    case "function-declarator": {
      const declarator = node.childForFieldName("declarator");
      return declarator !== null && /\(/.test(textOf(declarator)) ? named(declared(declarator)) : undefined;
    }
    case "assigned":
      return named(assigned(node));
    case "constant": {
      const left = node.childForFieldName("left");
      return left?.type === "constant" ? named(left) : undefined;
    }
    case "infix":
      return named(
        node.childForFieldName("name") ??
          node.namedChildren.find((child) => child.type === "infix")?.childForFieldName("operator"),
      );
    case "bodied":
      return node.childForFieldName("body") === null ? undefined : named(node.childForFieldName("name"));
    case "impl":
      return named(node.childForFieldName("type"));
    case "receiver":
      return here(node.childForFieldName("name") ?? node, receiverName(node));
    case "first-line":
      return here(
        node,
        /^\s*(?:(?:@\w+|public|private|internal|open|override|required|convenience)\s+)*([^\s:({=?]+)/.exec(
          node.text.slice(0, 200),
        )?.[1],
      );
    case "labels":
      return here(
        node,
        node.text
          .slice(0, 200)
          .split("{", 1)[0]
          ?.replace(/["\s]+/g, ".")
          .replace(/\.$/, ""),
      );
    case "lisp": {
      const start = node.text.slice(0, 200);
      return LISP_OTHERS.test(start) ? undefined : here(node, LISP_DEFINES.exec(start)?.[1]);
    }
    case "elixir":
      return elixirName(node);
    case "function-field": {
      const value = node.childForFieldName("value");
      return value !== null && FUNCTION_VALUE.test(value.type)
        ? named(node.childForFieldName("name") ?? node.childForFieldName("property"))
        : undefined;
    }
    case "selector":
      return named(node.namedChild(0));
    default:
      return named(byField(node, rule.slice("field:".length)));
  }
};

const PLAIN_PATH = /^[\w$@?!'~#-]+(?:(?:::|\.|:|\\)[\w$@?!'~#-]+)+$/;
const OPERATOR = /^((?:\w+::)*)(operator\s*(?:\(\)|[^(]+))/;

/** What a parser takes for a name where it recovers from an error. */
const KEYWORD = /^(?:_*|if|for|while|switch|return|else|enum|struct|class|catch)$/;

/** `A<B<C>>` is A; operators made of angle brackets stay. */
const withoutArguments = (name: string): string => {
  let plain = name;
  for (let before = ""; before !== plain; ) {
    before = plain;
    plain = plain.replace(/(?<=\w\s*)(?:<[^<>]*>|\[[^[\]]*\])/g, "");
  }
  return plain;
};

/** The parts of a written name: `ns::C<T>::m` is ns, C, m. Empty for what is no name. */
export const nameParts = (written: string): string[] => {
  const flat = written
    .replace(/^["'`]|["'`]$/g, "")
    .replace(/\s+/g, " ")
    .trim();
  // `const { a, b } = …` takes names from elsewhere.
  if (/^[{[(]/.test(flat) && !/^\(\W+\)$/.test(flat)) return [];
  const operator = OPERATOR.exec(flat);
  if (operator !== null)
    return [...(operator[1] ?? "").split("::").filter(Boolean), (operator[2] ?? "").trim()];
  const name = withoutArguments(flat)
    .replace(/^(?:module\.)?exports\./, "")
    .replace(/\.prototype\./, ".");
  if (KEYWORD.test(name) || name.length > MAX_NAME_CHARS) return [];
  return PLAIN_PATH.test(name) ? name.split(/::|\.|:|\\/).filter(Boolean) : [name];
};
