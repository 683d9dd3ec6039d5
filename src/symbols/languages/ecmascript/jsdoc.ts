import { collectionOf, type Expression, FOREIGN, instanceOf, UNKNOWN } from "../../extract/expression.ts";
import type { Handler, Walker } from "../../extract/walker.ts";
import { moduleNamed } from "./require.ts";

/** Types that a comment writes about what follows it; only plain JavaScript reads them. */
interface Doc {
  /** Where the comment ends. */
  readonly end: number;
  readonly parameters: ReadonlyMap<string, string>;
  readonly returns: string;
  readonly type: string;
}

/** The last comment of the walk: it is about the next definition. */
const docs = new WeakMap<Walker, Doc>();
/** By grammar: one that reads annotations has no use for types in comments. */
const plain = new WeakMap<readonly string[], boolean>();

const isPlain = ({ tree }: Walker): boolean => {
  const known = plain.get(tree.types) ?? !tree.types.includes("type_annotation");
  plain.set(tree.types, known);
  return known;
};

/** A tag, its type in braces (which may nest once), and the name after it. */
const TAG = /@(\w+)\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*(?:\[?([\w$]+))?/g;
/** Names of a type; those of a module with its source before them. */
const NAMES = /(?:import\(\s*['"]([^'"]+)['"]\s*\)\.)?([\p{L}_$][\p{L}\p{N}_$]*)/gu;
const BUILT_IN =
  /^(?:string|number|boolean|bigint|symbol|void|null|undefined|never|String|Number|Boolean|Date|RegExp|Error|Buffer|Function|function)$/;
const MAX_COMMENT = 20_000;

export const comment: Handler = (walker, node) => {
  const { tree } = walker;
  const start = tree.start[node] ?? 0;
  const end = tree.end[node] ?? 0;
  if (!tree.text.startsWith("/**", start) || end - start > MAX_COMMENT || !isPlain(walker)) return;
  const text = tree.text.slice(start, end);
  if (!text.includes("@")) return;
  const parameters = new Map<string, string>();
  let returns = "";
  let type = "";
  for (const match of text.matchAll(TAG)) {
    const [whole, tag = "", written = "", name = ""] = match;
    referTo(walker, written, start + match.index + whole.indexOf("{") + 1, node);
    if (tag === "param" || tag === "arg" || tag === "argument") parameters.set(name, written);
    else if (tag === "return" || tag === "returns") returns = written;
    else if (tag === "type") type = written;
  }
  docs.set(walker, { end, parameters, returns, type });
};

const referTo = (walker: Walker, written: string, offset: number, node: number): void => {
  for (const match of written.matchAll(NAMES)) {
    const [whole, source, name = ""] = match;
    if (BUILT_IN.test(name) || (source === undefined && /[\w$'"/.]$/.test(written.slice(0, match.index))))
      continue;
    const at = offset + match.index + whole.length - name.length;
    walker.referAt(name, at, "type", source === undefined ? "" : moduleNamed(walker, source, node));
  }
};

/** The value of a type as comments write it. */
const typeNamed = (walker: Walker, written: string, node: number): Expression => {
  const text = written
    .trim()
    .replace(/^[?!]|=$|^\.\.\./g, "")
    .trim();
  const generic = /^([\w.]+)\.?<(.+)>$/.exec(text);
  if (generic !== null) {
    const given = (generic[2] ?? "").split(",").at(-1) ?? "";
    if (/^(?:Promise|Readonly|Partial|Required)$/.test(generic[1] ?? ""))
      return typeNamed(walker, given, node);
    return /^(?:Array|Set|Map|Iterable|Record|Object|ReadonlyArray)$/.test(generic[1] ?? "")
      ? collectionOf(typeNamed(walker, given, node))
      : typeNamed(walker, generic[1] ?? "", node);
  }
  const inner = /^\((.*)\)$/.exec(text)?.[1] ?? text;
  if (inner.includes("|")) {
    const parts = inner.split("|").map((part) => typeNamed(walker, part, node));
    return parts.find((part) => part !== FOREIGN && part !== UNKNOWN) ?? parts[0] ?? UNKNOWN;
  }
  if (inner.endsWith("[]")) return collectionOf(typeNamed(walker, inner.slice(0, -2), node));
  if (BUILT_IN.test(inner)) return FOREIGN;
  const imported = /^import\(\s*['"]([^'"]+)['"]\s*\)\.([\w$]+)$/.exec(inner);
  if (imported !== null)
    return instanceOf(`${moduleNamed(walker, imported[1] ?? "", node)}.${imported[2] ?? ""}`);
  return /^[\p{L}_$][\p{L}\p{N}_$.]*$/u.test(inner) ? instanceOf(inner) : UNKNOWN;
};

/** What may stand between a comment and the function or value that it is about. */
const BETWEEN =
  /^\s*(?:(?:export|default|async|static|const|let|var|function|get|set|\*)\s+|[\w$.#]+\s*[:=]\s*)*$/;
const MAX_BETWEEN = 200;

const docOf = (walker: Walker, node: number): Doc | undefined => {
  const doc = docs.get(walker);
  const start = walker.tree.start[node] ?? 0;
  if (doc === undefined || doc.end > start || start - doc.end > MAX_BETWEEN) return undefined;
  return BETWEEN.test(walker.tree.text.slice(doc.end, start)) ? doc : undefined;
};

/** Types of the parameters and of the result of a function, as the comment before it has them. */
export interface WrittenTypes {
  parameter(name: string): Expression;
  readonly result: Expression;
}

export const writtenTypes = (walker: Walker, node: number): WrittenTypes | undefined => {
  const doc = docOf(walker, node);
  if (doc === undefined) return undefined;
  const read = (written: string | undefined): Expression =>
    written === undefined || written === "" ? UNKNOWN : typeNamed(walker, written, node);
  return { parameter: (name) => read(doc.parameters.get(name)), result: read(doc.returns) };
};

/** The type that the comment before a variable or a field gives it. */
export const writtenType = (walker: Walker, node: number): Expression => {
  const doc = docOf(walker, node);
  return doc === undefined || doc.type === "" ? UNKNOWN : typeNamed(walker, doc.type, node);
};
