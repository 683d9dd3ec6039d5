/** The end of a string or regular expression that begins at `start`; the end of its line where it is not closed. */
const endOfQuoted = (code: string, start: number, quote: string): number => {
  let isInClass = false;
  for (let at = start + 1; at < code.length; at++) {
    const char = code[at];
    if (char === "\\") at++;
    else if (char === "\n") return at;
    else if (quote === "/" && char === "[") isInClass = true;
    else if (char === "]") isInClass = false;
    else if (char === quote && !isInClass) return at + 1;
  }
  return code.length;
};

const endAfter = (code: string, from: number, closing: string): number => {
  const found = code.indexOf(closing, from);
  return found < 0 ? code.length : found + closing.length;
};

/** A slash after one of these begins a regular expression; after anything else it divides. */
const BEFORE_REGEX =
  /(?:^|[=(,:;!&|?{}[\n*%<>~^]|(?<!\+)\+|(?<!-)-|\b(?:return|typeof|case|in|of|await|void|else))[ \t]*$/;
const BEFORE_CHARS = 30;

const isRegexStart = (code: string, at: number): boolean =>
  BEFORE_REGEX.test(code.slice(Math.max(0, at - BEFORE_CHARS), at));

const skipToken = (code: string, at: number): number => {
  const char = code[at] ?? "";
  if (char === '"' || char === "'") return endOfQuoted(code, at, char);
  if (char !== "/") return at;
  if (code[at + 1] === "/") return endAfter(code, at, "\n") - 1;
  if (code[at + 1] === "*") return endAfter(code, at + 2, "*/");
  return isRegexStart(code, at) ? endOfQuoted(code, at, "/") : at;
};

/** Where the text of a template stops: behind its end, or behind the beginning of an expression in it. */
const endOfTemplateText = (code: string, from: number): number => {
  for (let at = from; at < code.length; at++) {
    if (code[at] === "\\") at++;
    else if (code[at] === "`") return at + 1;
    else if (code[at] === "$" && code[at + 1] === "{") return at + 2;
  }
  return code.length;
};

const OPENING = "([{";
const CLOSING = ")]}";
const TEMPLATE = "`";

const VARIABLE = /(?:const|let)(?=\s+[\w$[{\u0080-\uffff])/y;
/** A name without an initializer, blanks and comments before that aside. */
const BARE_NAME =
  /[\w$\u0080-\uffff]+(?![\w$\u0080-\uffff]|(?:\s|\/\/[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*=)/y;
const CLASS = /class[ \t]([ \t]*)([\w$\u0080-\uffff]+)(?=[\s{])/y;
/** After one of these, a class is part of an expression. */
const OPERATOR = /[=,:?&|!+*/%<>~^.-]/;
const IS_STRICT = /^\s*["']use strict/;

/** Walks over code, outside of strings, comments and regular expressions. */
class Scanner {
  readonly #code: string;
  at = 0;
  /** What is open: brackets, and templates whose expression this is. */
  readonly open: string[] = [];
  /** The last character that is not blank. */
  last = "";

  constructor(code: string) {
    this.#code = code;
  }

  /** Goes on by one token or character; returns the character, or nothing for what is skipped as a whole. */
  step(): string {
    const code = this.#code;
    const char = code[this.at] ?? "";
    const skipped = skipToken(code, this.at);
    if (skipped > this.at) {
      // A comment does not end an expression; everything else that is skipped is a value.
      if (!/^\/[/*]/.test(code.slice(this.at, this.at + 2))) this.last = char === "/" ? ")" : char;
      this.at = skipped;
      return "";
    }
    const isBackInTemplate = char === "}" && this.open.at(-1) === TEMPLATE;
    if (isBackInTemplate) this.open.pop();
    if (char === TEMPLATE || isBackInTemplate) {
      this.at = endOfTemplateText(code, this.at + 1);
      if (code[this.at - 1] === "{") this.open.push(TEMPLATE);
      this.last = TEMPLATE;
      return "";
    }
    if (OPENING.includes(char)) this.open.push(char);
    else if (CLOSING.includes(char)) this.open.pop();
    if (char.trim() !== "") this.last = char;
    this.at++;
    return char;
  }
}

const matchAt = (pattern: RegExp, code: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(code);
};

/**
 * Programs of one session share their variables, and models declare the same name again in a later program, which
 * JavaScript refuses for `const`, `let` and `class`. So declarations outside of any brackets become variables of the global
 * object; a `let` without a value has none again. Lines stay as they are. It reads no grammar: where the outcome is not valid, the program is run as it was written.
 */
export const declareAsVar = (code: string): string => {
  const scanner = new Scanner(code);
  const keepsClasses = IS_STRICT.test(code);
  let [written, copied, isInClass] = ["", 0, false];
  /** Within a `let`; `isName` where a name of it comes next. */
  let [isInLet, isName] = [false, false];
  const replace = (text: string, length: number): void => {
    written += code.slice(copied, scanner.at) + text;
    copied = scanner.at + length;
    scanner.at = copied;
    scanner.last = "x";
  };
  while (scanner.at < code.length) {
    const { at, last } = scanner;
    const canDeclare = scanner.open.length === 0 && !/[\w$.]/.test(code[at - 1] ?? " ");
    const variable = canDeclare ? matchAt(VARIABLE, code, at) : null;
    const named = canDeclare && !keepsClasses && !OPERATOR.test(last) ? matchAt(CLASS, code, at) : null;
    const bare = isInLet && isName && canDeclare ? matchAt(BARE_NAME, code, at) : null;
    if (variable !== null) {
      replace("var".padEnd(variable[0].length), variable[0].length);
      isInLet = isName = variable[0] === "let";
    } else if (bare !== null) {
      scanner.at += bare[0].length;
      // Otherwise it would keep the value that it had in an earlier program.
      replace("=undefined", 0);
      isName = false;
    } else if (named !== null) {
      replace(`${named[2]}=class${named[1]}`, named[0].length);
      isInClass = true;
    } else {
      const char = scanner.step();
      const isOutside = scanner.open.length === 0;
      if (isOutside && (char === ";" || (char === "\n" && scanner.last !== ","))) isInLet = false;
      if (char.trim() !== "") isName = isOutside && char === ",";
      if (char === "}" && isInClass && isOutside) {
        // Without it the next line could go on with the expression, and the class would be the result.
        replace(";void 0;", 0);
        scanner.last = ";";
        isInClass = false;
      }
    }
  }
  return written + code.slice(copied);
};
