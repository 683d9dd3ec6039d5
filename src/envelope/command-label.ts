import { createHash } from "node:crypto";
import { plainArguments } from "../policy/shell/plain-line.ts";

/** Programs whose first argument is a subcommand, which reveals nothing about what it is applied to. */
const WITH_SUBCOMMAND = new Set(
  "git npm npx pnpm yarn cargo go docker podman kubectl gh pip uv poetry make systemctl apt brew terraform dotnet".split(
    " ",
  ),
);
const SUBCOMMAND = /^[a-z][a-z-]{0,24}$/;
const MAX_NAME_CHARS = 48;

const nameOf = (program: string): string =>
  program
    .slice(program.lastIndexOf("/") + 1)
    .replace(/[^\x21-\x7e]/g, "?")
    .slice(0, MAX_NAME_CHARS);

/** What may be recorded of any command: the program, and its subcommand where it certainly is one. */
export const commandLabel = ([program, first]: readonly [string, ...string[]]): string => {
  const name = nameOf(program);
  return first !== undefined && WITH_SUBCOMMAND.has(name) && SUBCOMMAND.test(first)
    ? `${name} ${first}`
    : name;
};

/** Programs by their names alone: what else a line says is the caller's. */
const LINE = "line";

/** The label of a command as it was given: of a line, the program that it starts with where that is sure. */
export const labelOf = (command: string | readonly string[]): string => {
  const argv = typeof command === "string" ? plainArguments(command) : command;
  const [program, ...args] = argv ?? [];
  return program === undefined ? LINE : commandLabel([program, ...args]);
};

/** Identifies equal command lines without revealing them. */
export const commandHash = (command: string | readonly string[]): string =>
  createHash("sha256")
    .update(typeof command === "string" ? command : command.join("\0"))
    .digest("hex")
    .slice(0, 16);

/** A number or `NAME=` in front would be read as something else. */
const PLAIN_PROGRAM = /^[A-Za-z_./][\w+:./-]*$/;
const PLAIN_ARGUMENT = /^(\d+|[A-Za-z_./-][\w@%+=:,./-]*)$/;

/** One line that parses back to the same argv. */
export const quoteArgv = (argv: readonly string[]): string =>
  argv
    .map((arg, at) =>
      (at === 0 ? PLAIN_PROGRAM : PLAIN_ARGUMENT).test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`,
    )
    .join(" ");

export const commandText = (command: string | readonly string[]): string =>
  typeof command === "string" ? command : quoteArgv(command);
