import { LlmcError } from "../../base/error.ts";

const MAX_BYTES = 32 * 1024;
const MAX_ARGUMENTS = 1000;

const badLine = (why: string, hint: string): LlmcError =>
  new LlmcError("invalid_args", `The command line ${why}.`, { hint, details: { field: "command" } });

export const checkLine = (text: string): void => {
  if (text.length > MAX_BYTES || Buffer.byteLength(text) > MAX_BYTES)
    throw badLine(`is longer than ${MAX_BYTES} bytes`, "Put long input into a file and name the file.");
  if (text.includes("\0")) throw badLine("has a NUL byte", "No program can be given one.");
  if (text.trim() === "")
    throw badLine("names no program", "Start with the name of a program, as in: ls -l src.");
};

export const checkArgumentCount = (count: number): void => {
  if (count > MAX_ARGUMENTS)
    throw badLine(
      `has more than ${MAX_ARGUMENTS} arguments`,
      "Name a directory or use the program's own patterns instead.",
    );
};

/** Nothing in it is special to a shell, and the first word is no assignment. */
const PLAIN = /^[\w@%+:,./-]+(?:[ \t]+[\w@%+=:,./-]+)*$/;

/** The arguments of a line that says the same with and without a shell; undefined where a parser has to read it. */
export const plainArguments = (text: string): readonly [string, ...string[]] | undefined => {
  const line = text.trim();
  if (!PLAIN.test(line)) return undefined;
  const [program = "", ...rest] = line.split(/[ \t]+/);
  return [program, ...rest];
};
