import type { Handler, Walker } from "../../extract/walker.ts";
import { quoted } from "./types.ts";
import { firstPart, parts, use } from "./use.ts";

/** Names that mean the built-in type unless an earlier definition shadows them; later methods may have the same name. */
const BUILTIN = new Set(
  "bool bytes dict float frozenset int list object property set str tuple type".split(" "),
);

/** Characters of a quoted annotation. */
const TYPE_TEXT = /^[\w\s.,|[\]()]+$/;

/** What an annotation in quotes names: `"Store"`, `"list[models.Store]"`. */
export const referQuoted = (walker: Walker, node: number): void => {
  const text = quoted(walker, node);
  if (!TYPE_TEXT.test(text)) return;
  for (const [path] of text.matchAll(/[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/g)) {
    let before = "";
    for (const name of path.split(".")) {
      walker.refer(name, node, "type", before);
      before = before === "" ? name : `${before}.${name}`;
    }
  }
};

/** `Union["Store", None]` and `Key["Store"]()` outside of annotations: what has the name of a class is no dictionary. */
export const referQuotedArguments = (walker: Walker, node: number): void => {
  const value = walker.field(node, "value");
  const name = walker.type(value) === "attribute" ? walker.field(value, "attribute") : value;
  if (walker.type(name) !== "identifier" || !/^_*[A-Z]+[a-z]/.test(walker.text(name))) return;
  if (walker.text(name) === "Literal") return;
  for (const part of parts(walker, node))
    for (const inner of /^(?:list|tuple)$/.test(walker.type(part)) ? parts(walker, part) : [part])
      if (walker.type(inner) === "string") referQuoted(walker, inner);
};

const applied = (walker: Walker, node: number): void => {
  const [head = -1, ...rest] = parts(walker, node);
  annotation(walker, head);
  const name = walker.text(head);
  if (/(?:^|\.)Literal$/.test(name)) return;
  const given = rest.flatMap((part) =>
    walker.type(part) === "type_parameter" || walker.type(part) === "tuple" ? parts(walker, part) : [part],
  );
  for (const [index, part] of given.entries())
    if (index > 0 && /(?:^|\.)Annotated$/.test(name)) walker.visit(firstPart(walker, part));
    else annotation(walker, part);
};

/** Names in a written type. */
export const annotation: Handler = (walker, node) => {
  switch (walker.type(node)) {
    case "identifier": {
      const name = walker.text(node);
      if (BUILTIN.has(name) && walker.scopes.meaning(name, walker.scopes.current) === "unbound") return;
      walker.refer(name, node, "type");
      return;
    }
    case "attribute":
      use(walker, node, "type");
      return;
    case "string":
      referQuoted(walker, node);
      return;
    case "generic_type":
    case "subscript":
      applied(walker, node);
      return;
    case "type":
    case "type_parameter":
    case "union_type":
    case "member_type":
    case "splat_type":
    case "constrained_type":
    case "binary_operator":
    case "parenthesized_expression":
    case "list":
    case "tuple":
      for (let at = walker.tree.firstChild[node] ?? -1; at >= 0; at = walker.tree.nextSibling[at] ?? -1)
        annotation(walker, at);
      return;
    default:
      walker.visit(node);
  }
};
