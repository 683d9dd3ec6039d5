import type { SyntaxNode, SyntaxTree } from "../../syntax/syntax-tree.ts";
import type { NameRule } from "./outline-table.ts";

/** Longer texts are selectors or patterns, not names. */
const MAX_NAME_CHARS = 120;

const IDENTIFIER =
  /identifier$|^(?:name|constant|word|alias|symbol|simple_name|function_name|command_name|sym_lit|atom|variable|variable_name|package|bareword|object_reference|keyframes_name|\w+_name|pattern|operator)$/;

const textOf = (tree: SyntaxTree, node: SyntaxNode): string =>
  node.end - node.start > 4 * MAX_NAME_CHARS ? "" : tree.textOf(node);

const namedChildOf = (tree: SyntaxTree, node: SyntaxNode, types: RegExp): SyntaxNode | undefined =>
  tree.namedChildrenOf(node).find((child) => types.test(tree.typeOf(child)));

/** The innermost declarator of a C declaration: `*(*fp)(int)` gives `fp`. */
const findDeclared = (tree: SyntaxTree, node: SyntaxNode): SyntaxNode | undefined => {
  let at: SyntaxNode | undefined = node;
  for (let depth = 0; at !== undefined && depth < 12; depth++) {
    if (/identifier$|_name$|^operator_cast$/.test(tree.typeOf(at))) return at;
    at = tree.childOf(at, "declarator") ?? namedChildOf(tree, at, /declarator|identifier|_name$/);
  }
  return undefined;
};

const firstIdentifier = (tree: SyntaxTree, node: SyntaxNode, depth = 0): SyntaxNode | undefined => {
  const children = tree.namedChildrenOf(node);
  for (const child of children) if (IDENTIFIER.test(tree.typeOf(child))) return child;
  if (depth >= 2) return undefined;
  for (const child of children.slice(0, 4)) {
    const found = firstIdentifier(tree, child, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
};

const LISP_DEFINES =
  /^\(?\s*(?:[\w.-]+\/)?(?:def[\w-]*|define[\w-]*|ns|function|macro)[\s(]+(?:\^\S+\s+)*\(?\s*([^\s()[\]{}"]+)/i;
/** Lisp forms that start with `def` but define nothing. */
const LISP_OTHERS = /^\(?\s*(?:default|deftest-?)\b/;

interface Named {
  readonly text: string;
  readonly row: number;
}

const findAssigned = (tree: SyntaxTree, node: SyntaxNode): SyntaxNode | undefined => {
  const left = tree.childOf(node, "left") ?? tree.childOf(node, "lhs") ?? tree.namedChildrenOf(node)[0];
  if (left === undefined) return undefined;
  const target = tree.typeOf(left) === "variable_list" ? tree.namedChildrenOf(left)[0] : left;
  return target !== undefined &&
    /^(?:identifier|constant|member_expression|dot_index_expression|string|global_variable)$/.test(
      tree.typeOf(target),
    )
    ? target
    : undefined;
};

const here = ({ startRow }: SyntaxNode, text: string | undefined): Named | undefined =>
  text === undefined ? undefined : { text, row: startRow };

/** The name as written, and its row; undefined where the node has no name. */
export const nameOf = (tree: SyntaxTree, node: SyntaxNode, rule: NameRule): Named | undefined => {
  const field = (name: string): SyntaxNode | undefined => tree.childOf(node, name);
  const named = (found: SyntaxNode | undefined): Named | undefined =>
    found === undefined ? undefined : { text: textOf(tree, found), row: found.startRow };
  const start = (): string => tree.text.slice(node.start, Math.min(node.end, node.start + 200));
  switch (rule) {
    case "default":
      return named(field("name") ?? firstIdentifier(tree, node));
    case "declarator": {
      const declarator = field("declarator");
      return named(declarator && findDeclared(tree, declarator));
    }
    case "function-declarator": {
      const declarator = field("declarator");
      return declarator !== undefined && /\(/.test(textOf(tree, declarator))
        ? named(findDeclared(tree, declarator))
        : undefined;
    }
    case "assigned":
      return named(findAssigned(tree, node));
    case "infix": {
      const infix = namedChildOf(tree, node, /^infix$/);
      return named(field("name") ?? (infix && tree.childOf(infix, "operator")));
    }
    case "bodied":
      return field("body") === undefined ? undefined : named(field("name"));
    case "impl":
      return named(field("type"));
    case "first-line":
      return here(
        node,
        /^\s*(?:(?:@\w+|public|private|internal|open|override|required|convenience)\s+)*([^\s:({=?]+)/.exec(
          start(),
        )?.[1],
      );
    case "labels":
      return here(
        node,
        start()
          .split("{", 1)[0]
          ?.replace(/["\s]+/g, ".")
          .replace(/\.$/, ""),
      );
    case "lisp":
      return LISP_OTHERS.test(start()) ? undefined : here(node, LISP_DEFINES.exec(start())?.[1]);
    case "selector":
      return named(tree.namedChildrenOf(node)[0]);
    default: {
      const name = rule.slice("field:".length);
      return named(field(name) ?? tree.namedChildrenOf(node).find((child) => tree.typeOf(child) === name));
    }
  }
};

const PLAIN_PATH = /^[\w$@?!'~#-]+(?:(?:::|\.|:|\\)[\w$@?!'~#-]+)+$/;
const OPERATOR = /^((?:\w+::)*)(operator\s*(?:\(\)|[^(]+))/;

/** Text that a parser takes for a name when it recovers from an error. */
const KEYWORD = /^(?:_*|if|for|while|switch|return|else|enum|struct|class|catch)$/;

/** `A<B<C>>` is A; operators that consist of angle brackets are kept. */
const withoutArguments = (name: string): string => {
  let plain = name;
  for (let before = ""; before !== plain; ) {
    before = plain;
    plain = plain.replace(/(?<=\w\s*)(?:<[^<>]*>|\[[^[\]]*\])/g, "");
  }
  return plain;
};

/** The parts of a written name: `ns::C<T>::m` is ns, C, m. Empty for text that is not a name. */
export const nameParts = (written: string): string[] => {
  const flat = written
    .replace(/^["'`]|["'`]$/g, "")
    .replace(/\s+/g, " ")
    .trim();
  // `const { a, b } = …` takes over names that are defined elsewhere.
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
