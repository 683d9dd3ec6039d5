import { readConstantSubstitution } from "./here-document.ts";
import { readParameter } from "./parameter.ts";
import { refuseNamed, refuseSyntax } from "./refusals.ts";
import type { ShellWord, WordPart } from "./shell-line.ts";

const text = (value: string, isQuoted: boolean): WordPart => ({ kind: "text", text: value, isQuoted });

/** In double quotes a backslash is special only before these. */
const readDoubleQuoted = (raw: string): string =>
  raw.replace(/\\([$`"\\\n])/g, (_whole, escaped: string) => (escaped === "\n" ? "" : escaped));

/** Letters behind a backslash: in `$'…'`, for `echo -e` and in a format of printf. */
export const ESCAPED_LETTERS: Readonly<Record<string, string>> = {
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

/** Bytes beyond ASCII are parts of characters, which we have no way to put together from here. */
const byteOf = (code: number, source: string): string => {
  if (code === 0 || code > 0x7f)
    throw refuseSyntax(source, "is a byte that is no character by itself; write the character");
  return String.fromCharCode(code);
};

const readAnsi = (raw: string): string =>
  raw.replace(
    /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|([\s\S]))/g,
    (whole, hex?: string, short?: string, long?: string, octal?: string, letter?: string) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) {
        const point = Number.parseInt(code, 16);
        if (hex !== undefined) return byteOf(point, whole);
        if (point > 0x10ffff || point === 0) throw refuseSyntax(whole, "is not a character");
        return String.fromCodePoint(point);
      }
      if (octal !== undefined) return byteOf(Number.parseInt(octal, 8), whole);
      if (letter === "c")
        throw refuseSyntax(whole, "is a control character by its letter; write \\x and two digits");
      if (letter === undefined) return whole;
      return ESCAPED_LETTERS[letter] ?? (/['"\\?]/.test(letter) ? letter : whole);
    },
  );

interface Piece {
  readonly parts: ShellWord;
  readonly length: number;
}

/** Outside of quotes it would be split at blanks and match names, except as the value of a variable. */
const readSubstitution = (rest: string, isInQuotes: boolean): Piece => {
  const { text: value, length } = readConstantSubstitution(rest);
  const isSplit = !isInQuotes && /^$|[\s*?[\\]/.test(value);
  return { parts: [{ kind: "text", text: value, isQuoted: true, isSubstituted: true, isSplit }], length };
};

/** What begins with `$` or a backquote, in or outside of double quotes. */
const readExpansion = (rest: string, isQuoted: boolean): Piece => {
  const [whole, bare, braced] = /^\$(?:([A-Za-z_]\w*|\?)|\{([A-Za-z_]\w*)\})/.exec(rest) ?? [];
  const name = bare ?? braced;
  // Bash joins the lines first, and what follows may belong to the name.
  if (rest.startsWith("\\\n", whole?.length ?? 1)) throw refuseSyntax(rest, "is broken by a line end");
  if (whole !== undefined && name !== undefined) {
    const isBare = bare !== undefined && bare !== "?";
    return { parts: [{ kind: "variable", name, isQuoted, isBare }], length: whole.length };
  }
  if (rest.startsWith("`")) throw refuseNamed("command_substitution", rest);
  if (/^\$\((?!\()/.test(rest)) return readSubstitution(rest, isQuoted);
  if (/^\$(?:\(\(|\[)/.test(rest)) throw refuseNamed("arithmetic", rest);
  const parameter = readParameter(rest);
  if (parameter !== undefined) {
    const { name: changed, change, length } = parameter;
    return { parts: [{ kind: "variable", name: changed, isQuoted, isBare: false, change }], length };
  }
  if (rest.startsWith("${")) throw refuseNamed("expansion", rest);
  if (/^\$[\d@*#!$-]/.test(rest)) throw refuseNamed("special_parameter", rest);
  return { parts: [text("$", isQuoted)], length: 1 };
};

const unclosed = (rest: string) => refuseSyntax(rest, "has a quote without its partner");

/** From the quote on; what is expanded inside it is kept apart. */
const readDoubleQuotes = (rest: string): Piece => {
  const parts: WordPart[] = [];
  let at = 1;
  while (rest[at] !== '"') {
    const plain = /^(?:[^"\\$`]|\\[\s\S])+/.exec(rest.slice(at))?.[0];
    if (plain !== undefined) {
      parts.push(text(readDoubleQuoted(plain), true));
      at += plain.length;
    } else if (rest[at] === "$" || rest[at] === "`") {
      const expansion = readExpansion(rest.slice(at), true);
      parts.push(...expansion.parts);
      at += expansion.length;
    } else throw unclosed(rest);
  }
  return { parts: parts.length === 0 ? [text("", true)] : parts, length: at + 1 };
};

const readPiece = (rest: string): Piece => {
  if (rest.startsWith("\\")) {
    const escaped = /^[\s\S]/u.exec(rest.slice(1))?.[0];
    // A backslash at the end of the line stands for itself, one before a line end joins two lines.
    if (escaped === undefined) return { parts: [text("\\", false)], length: 1 };
    return { parts: escaped === "\n" ? [] : [text(escaped, true)], length: 1 + escaped.length };
  }
  const [single, inSingle = ""] = /^'([^']*)'/.exec(rest) ?? [];
  if (single !== undefined) return { parts: [text(inSingle, true)], length: single.length };
  const [ansi, inAnsi = ""] = /^\$'((?:[^'\\]|\\[\s\S])*)'/.exec(rest) ?? [];
  if (ansi !== undefined) return { parts: [text(readAnsi(inAnsi), true)], length: ansi.length };
  if (/^\$?'/.test(rest)) throw unclosed(rest);
  if (rest.startsWith('"')) return readDoubleQuotes(rest);
  if (rest.startsWith('$"')) {
    const { parts, length } = readDoubleQuotes(rest.slice(1));
    return { parts, length: length + 1 };
  }
  if (/^[$`]/.test(rest)) return readExpansion(rest, false);
  const plain = /^[^\\'"$` \t\n|&;()<>]+/.exec(rest)?.[0] ?? "";
  return { parts: [text(plain, false)], length: plain.length };
};

/** A lone `$` keeps bash from splitting the value of a variable beside it. */
const refuseLoneDollar = (word: ShellWord, raw: string): void => {
  const hasVariable = word.some((part) => part.kind === "variable" && !part.isQuoted);
  const hasLone = word.some((part) => part.kind === "text" && !part.isQuoted && part.text === "$");
  if (hasVariable && hasLone)
    throw refuseSyntax(raw, "has a $ without a name beside a variable; put it into single quotes");
};

/** `{name}>file` gives a descriptor a name, and digits that a line end parts from `>` are a descriptor. */
const refuseDescriptor = (raw: string, next: string | undefined): void => {
  if (/^(?:\{\w+\}|(?:\d|\\\n)*\\\n(?:\d|\\\n)*)$/.test(raw) && /[<>]/.test(next ?? ""))
    throw refuseSyntax(raw, "stands directly before a redirection; put a blank between them");
};

/** Ends a word unless quoted. Only these blanks do, whatever Unicode says. */
const ENDS_WORD = /[ \t\n|&;()<>]/;

/** One word of the line, with its quotes understood and nothing expanded yet; its length is 0 where none begins. */
export const readWord = (rest: string): Piece => {
  const parts: WordPart[] = [];
  let at = 0;
  for (let letter = rest[0]; letter !== undefined && !ENDS_WORD.test(letter); letter = rest[at]) {
    const piece = readPiece(rest.slice(at));
    parts.push(...piece.parts);
    at += piece.length;
  }
  const raw = rest.slice(0, at);
  refuseDescriptor(raw, rest[at]);
  refuseLoneDollar(parts, raw);
  return { parts, length: at };
};
