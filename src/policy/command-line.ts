import { LlmcError } from "../base/error.ts";

const MAX_BYTES = 32 * 1024;
const MAX_ARGUMENTS = 1000;

const NO_SHELL = "There is no shell: | and > are passed on as they are. Run one program at a time.";

const badLine = (why: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", `The command line ${why}.`, { hint });

/** The text of a quoted part that starts at `from`, and the index after its closing quote. */
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

const splitArguments = (line: string): string[] => {
  const args: string[] = [];
  let arg: string | undefined;
  let at = 0;
  while (at < line.length) {
    const letter = line[at] ?? "";
    if (letter === " " || letter === "\t") {
      if (arg !== undefined) args.push(arg);
      arg = undefined;
      at++;
    } else if (letter === "'" || letter === '"') {
      const [part, next] = readQuoted(line, at);
      arg = (arg ?? "") + part;
      at = next;
    } else if (letter === "\\") {
      if (at + 1 === line.length) {
        throw badLine("ends in a backslash", "Put another backslash before one that means itself.");
      }
      arg = (arg ?? "") + line[at + 1];
      at += 2;
    } else {
      arg = (arg ?? "") + letter;
      at++;
    }
    if (args.length > MAX_ARGUMENTS) break;
  }
  if (arg !== undefined) args.push(arg);
  return args;
};

/** Line ends around a pasted command are dropped; an escaped blank at the end belongs to its argument. */
const trimLine = (text: string): string => {
  const trimmed = text.trim();
  const end = text.indexOf(trimmed) + trimmed.length;
  return trimmed.endsWith("\\") ? text.slice(0, end + 1).trimStart() : trimmed;
};

/**
 * Quotes and backslashes group characters into arguments, and that is all: whatever else a shell would act on
 * (`;`, `&&`, `|`, `>`, `$(…)`, `*`, `~`, a newline) is a character like any other.
 */
export const parseCommandLine = (text: string): readonly [string, ...string[]] => {
  if (text.length > MAX_BYTES || Buffer.byteLength(text) > MAX_BYTES) {
    throw badLine(`is longer than ${MAX_BYTES} bytes`, "Put long input into a file and name the file.");
  }
  if (text.includes("\0")) throw badLine("holds a NUL byte", "No program can be given one.");
  const args = splitArguments(trimLine(text));
  if (args.length > MAX_ARGUMENTS) {
    throw badLine(
      `has more than ${MAX_ARGUMENTS} arguments`,
      "Name a directory or a glob of the program's own instead.",
    );
  }
  const [program, ...rest] = args;
  if (program === undefined || program === "") {
    throw badLine("names no program", "Start with the name of a program, as in: ls -l src.");
  }
  return [program, ...rest];
};

const renderArgument = (arg: string): string =>
  /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;

/** A line that parses back to the same arguments; for people and for the log. */
export const renderCommandLine = (argv: readonly string[]): string => argv.map(renderArgument).join(" ");
