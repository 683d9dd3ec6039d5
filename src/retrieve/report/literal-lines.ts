/**
 * What the string literals of source code say, line by line; code, comments and docstrings are left out. It needs no
 * grammar: a literal ends with its line unless three quotes or a backtick opened it or a backslash ends the line, so that an
 * apostrophe in a language that uses it otherwise spoils one line at most.
 */

/** Stands for code between two literals: no message goes on across it. */
export const BREAK = "\0";

/** Between the parts of one message: blanks, concatenation, and the prefix of the next literal. */
const JOINT = /^[\s+.\\&]*[a-zA-Z]{0,2}$/;
/** After these, a literal at the start of a line goes on with an expression; otherwise it is a docstring. */
const EXPECTS_MORE = /[=+,\\|&?(<.%]$/;
const LINE_COMMENT = /\/\/|#(?=[\s#!]|$)|--(?<=^\s*--)(?=[-\s]|$)/y;
const LITERAL_PREFIX = /^[a-zA-Z]{0,2}$/;
const DELIMITERS = ['"""', "'''", '"', "'", "`"];

/** What stands behind this in a line is data; whoever wrote the file chose how long its lines are. */
const MAX_LINE_CHARS = 2000;
/** Of one file; the rest of a larger one says nothing here. */
const MAX_FILE_CHARS = 2_000_000;

interface Scan {
  readonly kept: string[];
  /** Of brackets: inside of them, a literal is never a docstring. */
  depth: number;
  /** The code since the last literal. */
  gap: string;
  /** The last character of the last line that had code. */
  before: string;
  /** Where the text of this line begins. */
  indent: number;
}

interface Opened {
  readonly delimiter: string;
  readonly isDocstring: boolean;
}

/** Where a literal ends in the line; -1 where it does not. */
const endOf = (line: string, from: number, delimiter: string): number => {
  for (let at = from; at < line.length; at++) {
    if (line[at] === "\\") at++;
    else if (line.startsWith(delimiter, at)) return at;
  }
  return -1;
};

const goesOn = (delimiter: string, line: string): boolean =>
  delimiter.length === 3 || delimiter === "`" || line.endsWith("\\");

const isCommentAt = (line: string, at: number): boolean => {
  LINE_COMMENT.lastIndex = at;
  return LINE_COMMENT.test(line);
};

/** Where code may end or nest, and quotes that open nothing: everything else is skipped at once. */
const SPECIAL = /\\[\\"'`]|["'`#/()[\]{}-]/g;

interface Literal {
  readonly delimiter: string;
  readonly start: number;
  /** -1: not in this line. */
  readonly end: number;
}

/** @param endless delimiters without an end in the rest of the line: each is looked for once, however many open */
const literalAt = (line: string, start: number, endless: Set<string>): Literal | undefined => {
  const delimiter = DELIMITERS.find((one) => line.startsWith(one, start));
  if (delimiter === undefined || endless.has(delimiter)) return undefined;
  const end = endOf(line, start + delimiter.length, delimiter);
  if (end >= 0 || goesOn(delimiter, line)) return { delimiter, start, end };
  endless.add(delimiter);
  return undefined;
};

const isFirst = ({ indent }: Scan, line: string, start: number): boolean =>
  start <= indent + 2 && LITERAL_PREFIX.test(line.slice(indent, start));

const takeLiteral = (scan: Scan, line: string, { delimiter, start, end }: Literal, row: number): Opened => {
  const isDocstring = scan.depth === 0 && isFirst(scan, line, start) && !EXPECTS_MORE.test(scan.before);
  if (!isDocstring) {
    const text = line.slice(start + delimiter.length, end < 0 ? line.length : end);
    scan.kept[row] += `${JOINT.test(scan.gap) ? " " : BREAK}${text}`;
    scan.gap = "";
  }
  return { delimiter, isDocstring };
};

/** Reads a line from a position outside of literals; returns what is still open at its end. */
const scanCode = (scan: Scan, line: string, from: number, row: number): Opened | "comment" | undefined => {
  const endless = new Set<string>();
  let codeStart = from;
  SPECIAL.lastIndex = from;
  for (let found = SPECIAL.exec(line); found !== null; found = SPECIAL.exec(line)) {
    const at = found.index;
    const [character] = found;
    if (character.startsWith("\\")) continue;
    if ("([{".includes(character)) scan.depth++;
    else if (")]}".includes(character)) scan.depth = Math.max(0, scan.depth - 1);
    else if (line.startsWith("/*", at)) {
      scan.gap += line.slice(codeStart, at);
      const end = line.indexOf("*/", at + 2);
      if (end < 0) return "comment";
      codeStart = end + 2;
    } else if (isCommentAt(line, at)) {
      scan.gap += line.slice(codeStart, at);
      return undefined;
    } else {
      const literal = literalAt(line, at, endless);
      if (literal === undefined) continue;
      scan.gap += line.slice(codeStart, at);
      const opened = takeLiteral(scan, line, literal, row);
      if (literal.end < 0) return opened;
      codeStart = literal.end + literal.delimiter.length;
    }
    SPECIAL.lastIndex = Math.max(codeStart, at + 1);
  }
  scan.gap += line.slice(codeStart);
  return undefined;
};

/** Reads a line of bounded length; returns what is still open at its end. */
const scanLine = (scan: Scan, open: Opened | "comment" | undefined, line: string, row: number) => {
  let from = 0;
  if (open !== undefined) {
    const delimiter = open === "comment" ? "*/" : open.delimiter;
    const end = open === "comment" ? line.indexOf(delimiter) : endOf(line, 0, delimiter);
    if (open !== "comment" && !open.isDocstring) scan.kept[row] = end < 0 ? line : line.slice(0, end);
    if (end < 0) return open === "comment" || goesOn(delimiter, line) ? open : undefined;
    from = end + delimiter.length;
  }
  scan.indent = line.length - line.trimStart().length;
  const opened = scanCode(scan, line, from, row);
  scan.gap += "\n";
  scan.before = line.trimEnd().slice(-1) || scan.before;
  return opened;
};

/** The literals of each line. */
export const literalLines = (lines: readonly string[]): readonly string[] => {
  const scan: Scan = { kept: lines.map(() => ""), depth: 0, gap: BREAK, before: "", indent: 0 };
  let open: Opened | "comment" | undefined;
  let chars = 0;
  for (const [row, whole] of lines.entries()) {
    const line = whole.slice(0, MAX_LINE_CHARS);
    chars += line.length;
    if (chars > MAX_FILE_CHARS) break;
    const { depth } = scan;
    const opened = scanLine(scan, open, line, row);
    if (line.length === whole.length) open = opened;
    else {
      // What opened in a line that is cut is taken to be closed in the rest of it.
      if (opened !== open) open = undefined;
      scan.depth = depth;
    }
  }
  return scan.kept;
};
