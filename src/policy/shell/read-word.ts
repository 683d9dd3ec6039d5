import { refuseSyntax, unsupported } from "./refusals.ts";
import type { ShellTree, ShellWord, WordPart } from "./shell-line.ts";

const text = (value: string, isQuoted: boolean): WordPart => ({ kind: "text", text: value, isQuoted });

/** Backslashes in unquoted text: the next character means itself, and a line end disappears. */
const readUnquoted = (raw: string): ShellWord =>
  [...raw.matchAll(/\\\n|\\([\s\S])|[^\\]+|\\$/g)].flatMap(([whole, escaped]) => {
    if (whole === "\\\n") return [];
    return [escaped === undefined ? text(whole, false) : text(escaped, true)];
  });

/** In double quotes a backslash is special only before these. */
const readDoubleQuoted = (raw: string): string =>
  raw.replace(/\\([$`"\\\n])/g, (_whole, escaped: string) => (escaped === "\n" ? "" : escaped));

const ANSI: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const readAnsi = (raw: string): string =>
  raw.replace(
    /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|([\s\S]))/g,
    (whole, hex?: string, short?: string, long?: string, octal?: string, letter?: string) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) {
        const point = Number.parseInt(code, 16);
        if (point > 0x10ffff || point === 0) throw refuseSyntax(whole, "is not a character");
        return String.fromCodePoint(point);
      }
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
      if (letter === undefined) return whole;
      return ANSI[letter] ?? (/['"\\?]/.test(letter) ? letter : whole);
    },
  );

const readVariable = (node: ShellTree, isQuoted: boolean): WordPart => {
  const plain = /^\$(?:([A-Za-z_]\w*|\?)|\{([A-Za-z_]\w*)\})$/.exec(node.text);
  const name = plain?.[1] ?? plain?.[2];
  if (name === undefined) throw unsupported(node);
  return { kind: "variable", name, isQuoted };
};

/** The text between the quotes, with what is expanded inside it. */
const readString = (node: ShellTree): ShellWord => {
  const open = node.text.indexOf('"') + 1;
  const parts: WordPart[] = [];
  let at = open;
  for (const child of node.children) {
    if (!child.isNamed || child.type === "string_content") continue;
    const from = child.start - node.start;
    parts.push(text(readDoubleQuoted(node.text.slice(at, from)), true));
    if (child.type !== "simple_expansion" && child.type !== "expansion") throw unsupported(child);
    parts.push(readVariable(child, true));
    at = from + child.text.length;
  }
  parts.push(text(readDoubleQuoted(node.text.slice(at, -1)), true));
  return parts;
};

/** One word of the line, with its quotes understood and nothing expanded yet. */
export const readWord = (node: ShellTree): ShellWord => {
  switch (node.type) {
    case "word":
    case "number":
    case "brace_expression":
    case "extglob_pattern":
    case "file_descriptor":
    case "test_operator":
      return readUnquoted(node.text);
    case "raw_string":
      return [text(node.text.slice(1, -1), true)];
    case "ansi_c_string":
      return [text(readAnsi(node.text.slice(2, -1)), true)];
    case "string":
    case "translated_string":
      return readString(
        node.type === "string" ? node : (node.children.find(({ type }) => type === "string") ?? node),
      );
    case "simple_expansion":
    case "expansion":
      return [readVariable(node, false)];
    case "concatenation":
    case "command_name":
      return node.children.flatMap((child) => (child.isNamed ? readWord(child) : readUnquoted(child.text)));
    default:
      throw unsupported(node);
  }
};
