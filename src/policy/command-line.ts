import { LlmcError } from "../base/error.ts";

const MAX_BYTES = 32 * 1024;
const MAX_WORDS = 1000;

const NO_SHELL = "There is no shell: | and > are passed on as they are. Run one program at a time.";

const badLine = (why: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", `The command line ${why}.`, { hint });

/** The text in a quoted part that starts at `from`, and the place after its closing quote. */
const readQuoted = (text: string, from: number): readonly [part: string, next: number] => {
  const quote = text[from];
  let part = "";
  for (let at = from + 1; at < text.length; at++) {
    const letter = text[at] ?? "";
    if (letter === quote) return [part, at + 1];
    const escaped = quote === '"' && letter === "\\" ? text[at + 1] : undefined;
    if (escaped === '"' || escaped === "\\") at++;
    part += escaped === '"' || escaped === "\\" ? escaped : letter;
  }
  const name = quote === "'" ? "single" : "double";
  throw badLine(
    `has an unclosed ${name} quote`,
    `Close it, or put a backslash before a quote that means itself. ${NO_SHELL}`,
  );
};

const splitWords = (line: string): string[] => {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < line.length) {
    const letter = line[at] ?? "";
    if (letter === " " || letter === "\t") {
      if (word !== undefined) words.push(word);
      word = undefined;
      at++;
    } else if (letter === "'" || letter === '"') {
      const [part, next] = readQuoted(line, at);
      word = (word ?? "") + part;
      at = next;
    } else if (letter === "\\") {
      if (at + 1 === line.length) {
        throw badLine("ends in a backslash", "Put another backslash before one that means itself.");
      }
      word = (word ?? "") + line[at + 1];
      at += 2;
    } else {
      word = (word ?? "") + letter;
      at++;
    }
    if (words.length > MAX_WORDS) break;
  }
  if (word !== undefined) words.push(word);
  return words;
};

/** Line ends around the whole are how people paste, not something to pass on; an escaped blank at the end is a word's. */
const trimLine = (text: string): string => {
  const trimmed = text.trim();
  const end = text.indexOf(trimmed) + trimmed.length;
  return trimmed.endsWith("\\") ? text.slice(0, end + 1).trimStart() : trimmed;
};

/**
 * Quotes and backslashes group letters into words, and that is all: whatever else a shell would act on
 * (`;`, `&&`, `|`, `>`, `$(…)`, `*`, `~`, a newline) is a letter like any other.
 */
export const parseCommandLine = (text: string): readonly [string, ...string[]] => {
  if (text.length > MAX_BYTES || Buffer.byteLength(text) > MAX_BYTES) {
    throw badLine(`is longer than ${MAX_BYTES} bytes`, "Put long input into a file and name the file.");
  }
  if (text.includes("\0")) throw badLine("holds a NUL byte", "No program can be given one.");
  const words = splitWords(trimLine(text));
  if (words.length > MAX_WORDS) {
    throw badLine(
      `has more than ${MAX_WORDS} words`,
      "Name a directory or a glob of the program's own instead.",
    );
  }
  const [program, ...rest] = words;
  if (program === undefined || program === "") {
    throw badLine("names no program", "Start with the name of a program, as in: ls -l src.");
  }
  return [program, ...rest];
};

const renderWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The same words, in a line that parses back to them; for people and for the log. */
export const renderCommandLine = (argv: readonly string[]): string => argv.map(renderWord).join(" ");
