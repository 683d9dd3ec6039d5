import { LlmcError } from "../../base/error.ts";
import { readHereDocument } from "./here-document.ts";
import { readWord } from "./read-word.ts";
import { explainSubstitution, refuseNamed, refuseSyntax } from "./refusals.ts";
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

const readBody = (rest: string, { operator, target }: RedirectionToken) =>
  readHereDocument(rest, {
    mark: target.word.map((part) => (part.kind === "text" ? part.text : `$${part.name}`)).join(""),
    isIndented: operator === "<<-",
    isQuoted: /['"\\]/.test(target.raw),
  });

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
  if (lexer.waiting.length > 0 && parts.some((part) => part.kind === "text" && part.isSubstituted))
    throw refuseNamed("command_substitution", raw);
  lexer.at += length;
  return { kind: "word", raw, word: parts };
};

const nextRedirection = (lexer: Lexer, whole: string, digits: string, operator: string): RedirectionToken => {
  const rest = lexer.source.slice(lexer.at);
  if (/^[<>]\(/.test(rest)) throw refuseNamed("process_substitution", rest);
  const start = lexer.at;
  lexer.at += whole.length;
  skip(lexer, BLANKS);
  const isComment = lexer.source[lexer.at] === "#";
  const target = isComment ? undefined : nextWord(lexer);
  if (target === undefined) throw refuseSyntax(rest, "lacks the target of a redirection");
  const isHere = operator === "<<" || operator === "<<-";
  if (isHere && /\\\n|[$`]\(|\$\{/.test(lexer.source.slice(start, lexer.at)))
    throw refuseSyntax(rest, "has an end mark that is not one plain word");
  const fd = digits === "" ? undefined : Number(digits);
  const token: RedirectionToken = { kind: "redirection", operator, fd, target, body: undefined };
  if (isHere) lexer.waiting.push(token);
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
      return [...tokens, { kind: "refused", error: explainSubstitution(error, source.slice(0, lexer.at)) }];
    }
  }
};
