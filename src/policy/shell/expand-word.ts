import { LlmcError } from "../../base/error.ts";
import { expandBraceText } from "./braces.ts";
import type { ExpansionBudget } from "./expansion-budget.ts";
import { changeValue } from "./parameter.ts";
import { refuseConstruct } from "./refusals.ts";
import type { ShellWord, WordPart } from "./shell-line.ts";

/** One argument before globs are looked up. */
export interface Field {
  readonly pieces: readonly Piece[];
}

/** Text that stands for itself, or in which `*`, `?` and `[…]` match names. */
interface Piece {
  readonly text: string;
  readonly isQuoted: boolean;
}

export interface ExpansionContext {
  /** Undefined: the variable has no value. */
  readonly variable: (name: string) => string | undefined;
  readonly home: string;
  readonly budget: ExpansionBudget;
}

/** Pairing braces takes time by the square of their number. */
const MAX_BRACES = 100;

const tooManyBraces = (): LlmcError =>
  new LlmcError("invalid_args", `A word of the command line has more than ${MAX_BRACES} braces.`, {
    hint: "Put quotes around braces that stand for themselves.",
    details: { field: "command" },
  });

/**
 * Quoted parts and variables stand in for braces as single characters of a private plane of Unicode,
 * and so do those characters themselves.
 */
const FIRST_STAND_IN = 0xf0000;
const STAND_INS = /[\u{F0000}-\u{FFFFD}]/u;

const expandBraces = (word: ShellWord, budget: ExpansionBudget): readonly ShellWord[] => {
  if (!word.some((part) => part.kind === "text" && !part.isQuoted && part.text.includes("{"))) return [word];
  const kept: WordPart[] = [];
  const standIn = (part: WordPart): string => String.fromCodePoint(FIRST_STAND_IN + kept.push(part) - 1);
  const line = word
    .map((part) => {
      if (part.kind === "variable" || part.isQuoted) return standIn(part);
      return [...part.text]
        .map((letter) => (STAND_INS.test(letter) ? standIn({ ...part, text: letter }) : letter))
        .join("");
    })
    .join("");
  if (line.split("{").length > MAX_BRACES) throw tooManyBraces();
  return expandBraceText(line, budget).map((one) =>
    one.split(/([\u{F0000}-\u{FFFFD}])/u).flatMap((piece): ShellWord => {
      if (piece === "") return [];
      const part = STAND_INS.test(piece) ? kept[(piece.codePointAt(0) ?? 0) - FIRST_STAND_IN] : undefined;
      return [part ?? { kind: "text", text: piece, isQuoted: false }];
    }),
  );
};

const expandTilde = (word: ShellWord, home: string): ShellWord => {
  const [first, ...rest] = word;
  if (first?.kind !== "text" || first.isQuoted || !first.text.startsWith("~")) return word;
  const [, user = "", path = ""] = /^~([^/]*)(.*)$/s.exec(first.text) ?? [];
  if (user !== "" || (path === "" && rest.length > 0)) {
    if (/^[A-Za-z_+:=-]/.test(user))
      throw refuseConstruct("another user's home (~name)", first.text, "Write the path.");
    return word;
  }
  return [
    { kind: "text", text: home, isQuoted: true },
    { kind: "text", text: path, isQuoted: false },
    ...rest,
  ];
};

/** What a shell or its environment gives a value that is not known here: a default would not be taken there. */
const SET_ELSEWHERE =
  /^(?:_|OLDPWD|E?UID|PPID|GROUPS|S?RANDOM|SECONDS|LINENO|EPOCH\w+|BASH\w*|DIRSTACK|PIPESTATUS|HOST\w+|MACHTYPE|OSTYPE|SHLVL|SHELLOPTS|OPT\w+|IFS|PS\d|PATH|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TMPDIR|EDITOR|PAGER|DISPLAY)$/;

const variableValue = (
  { name, change }: Extract<WordPart, { readonly kind: "variable" }>,
  { variable }: ExpansionContext,
): string => {
  const known = variable(name);
  const value = known === undefined && SET_ELSEWHERE.test(name) ? undefined : changeValue(known, change);
  if (value === undefined)
    throw new LlmcError("invalid_args", `The variable ${name} has no value here.`, {
      hint: "Commands do not see the user's environment. Write the value itself, or assign it in the same line: NAME=value; …",
      details: { field: "command" },
    });
  return value;
};

/** Unquoted values are split at blanks, as a shell does; everything else stays together. */
const splitFields = (word: ShellWord, context: ExpansionContext): readonly Field[] => {
  const fields: Piece[][] = [];
  let current: Piece[] | undefined;
  const add = (piece: Piece): void => {
    context.budget.spend(piece.text.length);
    current ??= [];
    current.push(piece);
  };
  const end = (): void => {
    if (current !== undefined) fields.push(current);
    current = undefined;
  };
  for (const part of word) {
    if (part.kind === "text") {
      add({ text: part.text, isQuoted: part.isQuoted });
      continue;
    }
    const value = variableValue(part, context);
    if (part.isQuoted) {
      add({ text: value, isQuoted: true });
      continue;
    }
    for (const [piece] of value.matchAll(/[ \t\n]+|[^ \t\n]+/g)) {
      if (/^[ \t\n]/.test(piece)) end();
      else add({ text: piece, isQuoted: false });
    }
  }
  end();
  return fields.map((pieces) => ({ pieces }));
};

/** Bash expands braces in the text: `$A{b,c}` is `$Ab $Ac`. */
const refuseLongerNames = (word: ShellWord): ShellWord => {
  for (const [at, part] of word.entries()) {
    const next = word[at + 1];
    const isJoined = next?.kind === "text" && !next.isQuoted && /^\w/.test(next.text);
    if (part.kind === "variable" && part.isBare && !part.isQuoted && isJoined)
      throw refuseConstruct(
        "a brace beside a variable",
        `$${part.name}{…}`,
        `Write \${${part.name}} with braces of its own.`,
      );
  }
  return word;
};

/** The arguments that a word stands for: braces, `~` and variables, in the shell's order. */
export const expandWord = (word: ShellWord, context: ExpansionContext): readonly Field[] =>
  expandBraces(word, context.budget).flatMap((one) =>
    splitFields(expandTilde(refuseLongerNames(one), context.home), context),
  );

/** As one string, without splitting: the value of an assignment, a here-string. */
export const expandToText = (word: ShellWord, context: ExpansionContext): string => {
  return expandTilde(word, context.home)
    .map((part) => {
      const text = part.kind === "text" ? part.text : variableValue(part, context);
      context.budget.spend(text.length);
      return text;
    })
    .join("");
};

export const literalOf = ({ pieces }: Field): string => pieces.map(({ text }) => text).join("");

const SPECIAL = /[*?[]/;

/** Whether a segment matches other names than its own. */
export const hasPattern = (segment: string): boolean => /(^|[^\\])(\\\\)*[*?[]/.test(segment);

/** A bracket without its partner stands for itself; of those with one, only plain letters and ranges are understood. */
const readBrackets = (segment: string): string =>
  segment.replaceAll(/\\[\s\S]|\[(?:[!^]?\]?(?:\\[\s\S]|[^\]\\])*\])?/g, (found) => {
    if (!found.startsWith("[")) return found;
    if (found === "[") return "\\[";
    if (/[\\[]/.test(found.slice(1)))
      throw refuseConstruct("a class or a quote in a bracket pattern", found, "Write the letters: [a-zA-Z].");
    return found;
  });

/**
 * The patterns that each segment of a path has to match, or undefined where the field means itself.
 * Characters that only stand for themselves are escaped.
 */
export const globSegments = ({ pieces }: Field): readonly string[] | undefined => {
  if (!pieces.some(({ text, isQuoted }) => !isQuoted && SPECIAL.test(text))) return undefined;
  if (pieces.some(({ text, isQuoted }) => !isQuoted && text.includes("\\")))
    throw refuseConstruct("a backslash in the value of a pattern", literalOf({ pieces }), "Write the names.");
  const segments = pieces
    .map(({ text, isQuoted }) =>
      isQuoted ? text.replaceAll(/[^\w/]/g, "\\$&") : text.replaceAll(/\*+/g, "*"),
    )
    .join("")
    .split("/")
    .map(readBrackets);
  return segments.some(hasPattern) ? segments : undefined;
};
