import { refuseNamed, refuseSyntax } from "./refusals.ts";
import type { ShellWord, WordPart } from "./shell-line.ts";

const text = (value: string, isQuoted: boolean): WordPart => ({ kind: "text", text: value, isQuoted });

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

interface Piece {
  readonly parts: ShellWord;
  readonly length: number;
}

/** What begins with `$` or a backquote, in or outside of double quotes. */
const readExpansion = (rest: string, isQuoted: boolean): Piece => {
  const [whole, bare, braced] = /^\$(?:([A-Za-z_]\w*|\?)|\{([A-Za-z_]\w*)\})/.exec(rest) ?? [];
  const name = bare ?? braced;
  if (whole !== undefined && name !== undefined)
    return { parts: [{ kind: "variable", name, isQuoted }], length: whole.length };
  if (/^(?:`|\$\((?!\())/.test(rest)) throw refuseNamed("command_substitution", rest);
  if (/^\$(?:\(\(|\[)/.test(rest)) throw refuseNamed("arithmetic", rest);
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
  return { parts, length: at };
};
