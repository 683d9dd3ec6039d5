import { isDeepStrictEqual } from "node:util";
import { isObject, type JsoncMember, type JsoncObject, parseJsonc, refuseAt } from "./jsonc-tree.ts";

type Path = readonly [string, string];

const BLANK = /[ \t]/;

/** The layout of the file, so that an added entry looks like the others. */
interface Style {
  readonly eol: string;
  readonly unit: string;
  /** The whole file is on one line. */
  readonly isCompact: boolean;
}

const lineIndent = (text: string, offset: number): string => {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? "";
};

const opensWithNewline = (text: string, object: JsoncObject): boolean =>
  text.slice(object.start, object.members[0]?.start ?? object.end).includes("\n");

const styleOf = (text: string, root: JsoncObject): Style => {
  const first = root.members[0];
  const outer = lineIndent(text, root.start);
  const inner = first !== undefined && opensWithNewline(text, root) ? lineIndent(text, first.start) : "";
  return {
    eol: text.includes("\r\n") ? "\r\n" : "\n",
    unit: inner.length > outer.length ? inner.slice(outer.length) : "  ",
    isCompact: first !== undefined && !text.slice(root.start, root.end).includes("\n"),
  };
};

const onLines = (value: unknown, indent: string, { unit, eol }: Style): string =>
  JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);

// In JSON a string has no bare newline, so all newlines of stringify are layout.
const onOneLine = (value: unknown): string => JSON.stringify(value, null, 1).replaceAll(/\n */g, " ");

/** The end of the comments on the same line, which belong to what is before them. */
const afterLineComments = (text: string, from: number): number => {
  let end = from;
  let at = from;
  for (;;) {
    while (BLANK.test(text[at] ?? "")) at++;
    if (text.startsWith("//", at)) {
      while (text[at] !== "\n" && text[at] !== "\r" && at < text.length) at++;
      return at;
    }
    const close = text.startsWith("/*", at) ? text.indexOf("*/", at + 2) + 2 : 0;
    if (close === 0 || text.slice(at, close).includes("\n")) return end;
    at = close;
    end = close;
  }
};

const addToEmpty = (text: string, object: JsoncObject, key: string, value: unknown, style: Style): string => {
  const inside = text.slice(object.start + 1, object.end - 1).replace(/[ \t\r\n]+$/, "");
  const head = text.slice(0, object.start + 1) + inside;
  const tail = text.slice(object.end - 1);
  if (style.isCompact) return `${head}${JSON.stringify(key)}:${JSON.stringify(value)}${tail}`;
  const outer = lineIndent(text, object.start);
  const inner = outer + style.unit;
  const member = `${JSON.stringify(key)}: ${onLines(value, inner, style)}`;
  return `${head}${style.eol}${inner}${member}${style.eol}${outer}${tail}`;
};

const addMember = (text: string, object: JsoncObject, key: string, value: unknown, style: Style): string => {
  const first = object.members[0];
  const last = object.members.at(-1);
  if (first === undefined || last === undefined) return addToEmpty(text, object, key, value, style);
  const valueEnd = last.node.end;
  const tokenEnd = last.comma === undefined ? valueEnd : last.comma + 1;
  const [before, after] = last.comma === undefined ? [",", ""] : ["", ","];
  const head = text.slice(0, valueEnd) + before;
  if (opensWithNewline(text, object)) {
    const at = afterLineComments(text, tokenEnd);
    const indent = lineIndent(text, first.start);
    const member = `${JSON.stringify(key)}: ${onLines(value, indent, style)}`;
    return `${head}${text.slice(valueEnd, at)}${style.eol}${indent}${member}${after}${text.slice(at)}`;
  }
  const isTight = text[object.start + 1] === '"';
  const member = isTight
    ? `${JSON.stringify(key)}:${JSON.stringify(value)}`
    : ` ${JSON.stringify(key)}: ${onOneLine(value)}`;
  return `${head}${text.slice(valueEnd, tokenEnd)}${member}${after}${text.slice(tokenEnd)}`;
};

/** Programs differ in which of two equal keys they use, so such a file is not changed. */
const findMember = (
  text: string,
  file: string,
  object: JsoncObject,
  key: string,
): JsoncMember | undefined => {
  const [found, second] = object.members.filter((member) => member.key === key);
  return second === undefined ? found : refuseAt(file, text, second.start, `the key "${key}" appears twice`);
};

const parseRoot = (text: string, file: string): JsoncObject | undefined => {
  const root = parseJsonc(text, file);
  return root === undefined || isObject(root) ? root : refuseAt(file, text, root.start, "expected an object");
};

export const readJsonc = (text: string, file: string): unknown => parseRoot(text, file)?.value ?? {};

export const jsoncSnippet = ([outer, inner]: Path, value: unknown): string =>
  `${JSON.stringify({ [outer]: { [inner]: value } }, null, 2)}\n`;

/** Sets the value at the path. Nothing else changes, except for a comma that becomes necessary. */
export const setJsonc = (text: string, file: string, path: Path, value: unknown): string => {
  const [outer, inner] = path;
  const root = parseRoot(text, file);
  if (root === undefined) {
    const eol = text.includes("\r\n") ? "\r\n" : "\n";
    const head = text === "" || text.endsWith("\n") ? text : text + eol;
    return head + jsoncSnippet(path, value).replaceAll("\n", eol);
  }
  const style = styleOf(text, root);
  const holder = findMember(text, file, root, outer);
  if (holder === undefined) return addMember(text, root, outer, { [inner]: value }, style);
  if (!isObject(holder.node)) return refuseAt(file, text, holder.node.start, `"${outer}" is not an object`);
  const present = findMember(text, file, holder.node, inner);
  if (present === undefined) return addMember(text, holder.node, inner, value, style);
  if (isDeepStrictEqual(present.node.value, value)) return text;
  const { start, end } = present.node;
  const formatted = opensWithNewline(text, holder.node)
    ? onLines(value, lineIndent(text, present.start), style)
    : onOneLine(value);
  return text.slice(0, start) + formatted + text.slice(end);
};

const cut = (text: string, ranges: readonly (readonly [number, number])[]): string =>
  ranges
    .toSorted((a, b) => b[0] - a[0])
    .reduce((rest, [from, to]) => rest.slice(0, from) + rest.slice(to), text);

const removeMember = (text: string, object: JsoncObject, member: JsoncMember): string => {
  const before = text.slice(object.start + 1, member.start);
  const after = text.slice(member.node.end, object.end - 1);
  if (/^\s*$/.test(before) && /^\s*,?\s*$/.test(after))
    return `${text.slice(0, object.start)}{}${text.slice(object.end)}`;

  const previous = object.members[object.members.indexOf(member) - 1];
  // If the last member has no comma, removing it leaves one too many after the member before it.
  const comma = member.comma ?? previous?.comma;
  const commaIsAdjacent =
    member.comma !== undefined && text.slice(member.node.end, member.comma).trim() === "";
  let from = member.start;
  let to = commaIsAdjacent ? member.comma + 1 : member.node.end;
  const commas: [number, number][] = comma === undefined || commaIsAdjacent ? [] : [[comma, comma + 1]];

  let lineStart = from;
  while (BLANK.test(text[lineStart - 1] ?? "")) lineStart--;
  let lineEnd = to;
  while (BLANK.test(text[lineEnd] ?? "")) lineEnd++;
  const endsLine = text[lineEnd] === "\n" || text.startsWith("\r\n", lineEnd);
  if (text[lineStart - 1] === "\n" && endsLine) {
    from = text[lineStart - 2] === "\r" ? lineStart - 2 : lineStart - 1;
    to = lineEnd;
  } else if (member.comma === undefined && previous !== undefined) from = lineStart;
  else to = lineEnd;
  return cut(text, [[from, to], ...commas]);
};

/** Removes the value at the path; with `dropEmpty`, also the object that held it, if nothing is left in it. */
export const removeJsonc = (text: string, file: string, [outer, inner]: Path, dropEmpty = false): string => {
  const root = parseRoot(text, file);
  const holder = root === undefined ? undefined : findMember(text, file, root, outer);
  if (root === undefined || holder === undefined || !isObject(holder.node)) return text;
  const present = findMember(text, file, holder.node, inner);
  if (present === undefined) return text;
  const rest = removeMember(text, holder.node, present);
  const wasAlone = rest.slice(holder.node.start, holder.node.start + 2) === "{}";
  return dropEmpty && wasAlone ? removeMember(text, root, holder) : rest;
};
