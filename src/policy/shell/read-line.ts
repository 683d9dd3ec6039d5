import { LlmcError } from "../../base/error.ts";
import { readDoubleBracket } from "./double-bracket.ts";
import { readCommand, readRedirection } from "./read-command.ts";
import { refuseBackground, refuseConstruct, refuseNamed, refuseReserved, refuseSyntax } from "./refusals.ts";
import {
  type Group,
  isPipedGroup,
  type PipedGroup,
  type Pipeline,
  type PipelinePart,
  type Redirection,
  type ShellCommand,
  type ShellLine,
  type ShellStep,
} from "./shell-line.ts";
import { type RedirectionToken, type ShellToken, shellTokens, type WordToken } from "./shell-tokens.ts";

/** Each of them is judged, with the workspace as it is, before anything runs. */
const MAX_COMMANDS = 50;
/** They run at the same time. */
const MAX_PIPED = 12;
/** Deeper than people nest; the parser calls itself once for each level. */
const MAX_DEPTH = 20;

/** Each holds descriptors of the server while its pipeline runs. */
const MAX_REDIRECTIONS = 100;

const checkCount = (count: number, max: number, what: string): void => {
  if (count > max)
    throw new LlmcError("invalid_args", `The command line has more than ${max} ${what}.`, {
      hint: "Split it into several calls.",
      details: { field: "command" },
    });
};

interface Parser {
  readonly source: string;
  readonly tokens: readonly ShellToken[];
  at: number;
  depth: number;
}

const peek = ({ tokens, at }: Parser): ShellToken => {
  const token = tokens[at] ?? { kind: "end" };
  if (token.kind === "refused") throw token.error;
  return token;
};

/** Takes the next token if it is this operator. */
const takes = (parser: Parser, ...operators: readonly string[]): string | undefined => {
  const token = peek(parser);
  if (token.kind !== "operator" || !operators.includes(token.text)) return undefined;
  parser.at++;
  return token.text;
};

const takesWord = (parser: Parser, raw: string): boolean => {
  const token = peek(parser);
  if (token.kind !== "word" || token.raw !== raw) return false;
  parser.at++;
  return true;
};

const skipLineEnds = (parser: Parser): void => {
  while (takes(parser, "\n") !== undefined);
};

const unexpectedToken = (parser: Parser): LlmcError => {
  const token = peek(parser);
  if (token.kind === "end") return refuseSyntax(parser.source, "ends where a command should follow");
  const text = token.kind === "operator" ? token.text.replace("\n", "a line end") : parser.source;
  return refuseSyntax(text, "is out of place, or a command is missing before it");
};

const parseGroup = (parser: Parser): Pick<PipedGroup, "isSubshell" | "line"> | undefined => {
  const isSubshell = takes(parser, "(") !== undefined;
  if (!isSubshell && !takesWord(parser, "{")) return undefined;
  if (isSubshell && takes(parser, "(") !== undefined) throw refuseNamed("arithmetic", parser.source);
  if (++parser.depth > MAX_DEPTH) throw refuseSyntax(parser.source, "is nested too deeply");
  const line = parseLines(parser);
  parser.depth--;
  const isClosed = isSubshell ? takes(parser, ")") !== undefined : takesWord(parser, "}");
  if (!isClosed) throw refuseSyntax(parser.source, `has a group without its ${isSubshell ? ")" : "}"}`);
  return { isSubshell, line };
};

const parseCommand = (parser: Parser): ShellCommand => {
  const first = peek(parser);
  const isBracket = first.kind === "word" && first.raw === "[[";
  if (first.kind === "word" && !isBracket) refuseReserved(first.raw, parser.source);
  if (first.kind === "word" && /^[!}]$/.test(first.raw)) throw unexpectedToken(parser);
  const tokens: (WordToken | RedirectionToken)[] = [];
  for (
    let token = peek(parser);
    token.kind === "word" || token.kind === "redirection";
    token = peek(parser)
  ) {
    tokens.push(token);
    parser.at++;
  }
  if (tokens.length === 0) throw unexpectedToken(parser);
  const bracket = isBracket ? readDoubleBracket(tokens) : undefined;
  if (bracket !== undefined) return bracket;
  if (isBracket) refuseReserved("[[", parser.source);
  const last = tokens.at(-1);
  if (takes(parser, "(") !== undefined)
    throw refuseNamed(last?.kind === "word" && last.raw.endsWith("=") ? "array" : "function", parser.source);
  return readCommand(tokens);
};

/** What stands behind `)` or `}`. */
const parseGroupRedirections = (parser: Parser): readonly Redirection[] => {
  const tokens: RedirectionToken[] = [];
  for (let token = peek(parser); token.kind === "redirection"; token = peek(parser)) {
    tokens.push(token);
    parser.at++;
  }
  const redirections = tokens.flatMap(readRedirection);
  // Programs get a pipe instead of the file, and would not share a place in it.
  if (redirections.some((one) => one.kind === "file" && one.access === "read"))
    throw refuseConstruct("input for a group", parser.source, "Put < FILE behind the command that reads it.");
  return redirections;
};

const STDERR_TO_STDOUT: Redirection = { kind: "copy", fd: 2, of: 1 };

const parsePart = (parser: Parser): PipelinePart => {
  const group = parseGroup(parser);
  return group === undefined
    ? parseCommand(parser)
    : { ...group, redirections: parseGroupRedirections(parser) };
};

const parsePipeline = (parser: Parser): Pipeline | Group => {
  let isNegated = false;
  while (takesWord(parser, "!")) isNegated = !isNegated;
  const commands: PipelinePart[] = [];
  for (;;) {
    const part = parsePart(parser);
    const pipe = takes(parser, "|", "|&");
    commands.push(pipe === "|&" ? { ...part, redirections: [...part.redirections, STDERR_TO_STDOUT] } : part);
    if (pipe === undefined) break;
    skipLineEnds(parser);
  }
  checkCount(commands.length, MAX_PIPED, "programs in one pipeline");
  const [first, ...rest] = commands;
  if (first === undefined) throw unexpectedToken(parser);
  if (isPipedGroup(first) && rest.length === 0 && first.redirections.length === 0) {
    const { isSubshell, line } = first;
    return { kind: "group", isSubshell, isNegated, line };
  }
  return { kind: "pipeline", isNegated, commands: [first, ...rest] };
};

/** The shell knows no precedence between `&&` and `||`. */
const parseStatement = (parser: Parser): ShellLine => {
  const steps: ShellStep[] = [{ when: "always", body: parsePipeline(parser) }];
  for (
    let operator = takes(parser, "&&", "||");
    operator !== undefined;
    operator = takes(parser, "&&", "||")
  ) {
    skipLineEnds(parser);
    steps.push({ when: operator === "&&" ? "success" : "failure", body: parsePipeline(parser) });
  }
  return steps;
};

/** Statements up to the end of the line or of the group. */
const parseLines = (parser: Parser): ShellLine => {
  const steps: ShellStep[] = [];
  skipLineEnds(parser);
  do {
    steps.push(...parseStatement(parser));
    if (takes(parser, "&") !== undefined) throw refuseBackground(parser.source);
    const separator = takes(parser, ";", "\n");
    skipLineEnds(parser);
    if (separator === undefined) break;
  } while (!isAtEnd(peek(parser)));
  return steps;
};

const isAtEnd = (token: ShellToken): boolean =>
  token.kind === "end" ||
  (token.kind === "operator" && token.text === ")") ||
  (token.kind === "word" && token.raw === "}");

const countCommands = (line: ShellLine): number => {
  const parts = line.flatMap(({ body }): readonly (Group | PipelinePart)[] =>
    body.kind === "group" ? [body] : body.commands,
  );
  return parts.reduce((sum, part) => sum + ("line" in part ? countCommands(part.line) : 1), 0);
};

/**
 * The steps of a shell line that can be run without a shell, bound as bash binds them; whatever needs a shell is
 * refused by its name.
 */
export const readShellLine = (source: string): ShellLine => {
  const parser: Parser = { source, tokens: shellTokens(source), at: 0, depth: 0 };
  skipLineEnds(parser);
  // Nothing but comments.
  if (peek(parser).kind === "end") return [];
  const line = parseLines(parser);
  if (peek(parser).kind !== "end") throw unexpectedToken(parser);
  checkCount(countCommands(line), MAX_COMMANDS, "commands");
  const redirections = parser.tokens.filter(({ kind }) => kind === "redirection");
  checkCount(redirections.length, MAX_REDIRECTIONS, "redirections");
  return line;
};
