import { LlmcError } from "../../base/error.ts";
import { readWord } from "./read-word.ts";
import { refuseConstruct, refuseNamed, refuseSyntax } from "./refusals.ts";
import type { ShellWord } from "./shell-line.ts";

export interface WordToken {
  readonly kind: "word";
  /** As it is written, by which reserved words and assignments are known. */
  readonly raw: string;
  readonly word: ShellWord;
}

export interface RedirectionToken {
  readonly kind: "redirection";
  readonly operator: string;
  readonly fd: number | undefined;
  readonly target: WordToken;
  /** The text of a here-document, once the lexer has met it. */
  body: string | undefined;
}

type Operator = "&&" | "||" | "|" | "|&" | ";" | ";;" | "&" | "(" | ")" | "\n";

export type ShellToken =
  | WordToken
  | RedirectionToken
  | { readonly kind: "operator"; readonly text: Operator }
  /** What only a shell understands, thrown when the parser comes to it: it may have a better name for the whole. */
  | { readonly kind: "refused"; readonly error: LlmcError }
  | { readonly kind: "end" };

const isOperator = (text: string): text is Operator => /^(?:&&|\|\||\|&?|;;?|&|\(|\)|\n)$/.test(text);

const REDIRECTION = /^(\d*)(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>|&>>|&>)/;

const BLANKS = /^(?:[ \t]|\\\n)+/;

/** The lines up to the end mark, and the length of all of it. */
const readBody = (rest: string, { operator, target }: RedirectionToken): { body: string; length: number } => {
  const mark = target.word.map((part) => (part.kind === "text" ? part.text : `$${part.name}`)).join("");
  const lines: string[] = [];
  let length = 0;
  for (const line of rest.split("\n")) {
    length += line.length + 1;
    const stripped = operator === "<<-" ? line.replace(/^\t+/, "") : line;
    if (stripped === mark) {
      const isQuoted = /['"\\]/.test(target.raw);
      if (!isQuoted && lines.some((one) => /[$`\\]/.test(one)))
        throw refuseConstruct(
          "a here-document with expansions",
          rest,
          "Put quotes around its end mark: <<'EOF'.",
        );
      return { body: lines.map((one) => `${one}\n`).join(""), length: Math.min(length, rest.length) };
    }
    lines.push(stripped);
  }
  throw refuseSyntax(`${operator}${target.raw}`, "is a here-document without its end mark");
};

interface Lexer {
  readonly source: string;
  at: number;
  /** Here-documents whose text begins behind the next line end. */
  readonly waiting: RedirectionToken[];
}

const skip = (lexer: Lexer, pattern: RegExp): void => {
  lexer.at += pattern.exec(lexer.source.slice(lexer.at))?.[0].length ?? 0;
};

const nextWord = (lexer: Lexer): WordToken | undefined => {
  skip(lexer, BLANKS);
  const { parts, length } = readWord(lexer.source.slice(lexer.at));
  if (length === 0) return undefined;
  const raw = lexer.source.slice(lexer.at, lexer.at + length);
  lexer.at += length;
  return { kind: "word", raw, word: parts };
};

const nextRedirection = (lexer: Lexer, whole: string, digits: string, operator: string): RedirectionToken => {
  const rest = lexer.source.slice(lexer.at);
  if (/^[<>]\(/.test(rest)) throw refuseNamed("process_substitution", rest);
  lexer.at += whole.length;
  const target = nextWord(lexer);
  if (target === undefined) throw refuseSyntax(rest, "lacks the target of a redirection");
  const fd = digits === "" ? undefined : Number(digits);
  const token: RedirectionToken = { kind: "redirection", operator, fd, target, body: undefined };
  if (operator === "<<" || operator === "<<-") lexer.waiting.push(token);
  return token;
};

const endLine = (lexer: Lexer): void => {
  for (const token of lexer.waiting.splice(0)) {
    const { body, length } = readBody(lexer.source.slice(lexer.at), token);
    token.body = body;
    lexer.at += length;
  }
};

const nextToken = (lexer: Lexer): ShellToken => {
  skip(lexer, BLANKS);
  skip(lexer, /^#[^\n]*/);
  const rest = lexer.source.slice(lexer.at);
  if (rest === "") {
    endLine(lexer);
    return { kind: "end" };
  }
  const [whole, digits = "", redirection = ""] = REDIRECTION.exec(rest) ?? [];
  if (whole !== undefined) return nextRedirection(lexer, whole, digits, redirection);
  const operator = /^(?:&&|\|\||\|&|;;|[|;&()\n])/.exec(rest)?.[0] ?? "";
  if (isOperator(operator)) {
    lexer.at += operator.length;
    if (operator === "\n") endLine(lexer);
    return { kind: "operator", text: operator };
  }
  const word = nextWord(lexer);
  if (word === undefined) throw refuseSyntax(rest, "is not understood");
  return word;
};

/** The words and operators of a line, from left to right. */
export const shellTokens = (source: string): readonly ShellToken[] => {
  const lexer: Lexer = { source, at: 0, waiting: [] };
  const tokens: ShellToken[] = [];
  for (;;) {
    try {
      const token = nextToken(lexer);
      tokens.push(token);
      if (token.kind === "end") return tokens;
    } catch (error) {
      if (!(error instanceof LlmcError)) throw error;
      return [...tokens, { kind: "refused", error }];
    }
  }
};
