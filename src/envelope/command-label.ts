import { createHash } from "node:crypto";
import { LlmcError } from "../base/error.ts";
import { plainArguments } from "../policy/shell/plain-line.ts";
import { readShellLine } from "../policy/shell/read-line.ts";
import {
  isPipedGroup,
  type PipelinePart,
  type ShellLine,
  type ShellWord,
} from "../policy/shell/shell-line.ts";

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
const MAX_NAMES = 6;
const JOINTS = { always: "; ", success: " && ", failure: " || " } as const;

/** Braces and globs may make arguments of a part of the word. */
const EXPANDS = /[{*?]|.\[/;

/** The name of a program where it is written out; undefined for a command of assignments or redirections alone. */
const writtenName = ([word]: readonly ShellWord[]): string | undefined => {
  if (word === undefined) return undefined;
  const texts = word.map((part) => {
    if (part.kind !== "text" || part.isSubstituted === true) return undefined;
    return !part.isQuoted && EXPANDS.test(part.text) ? undefined : part.text;
  });
  return texts.includes(undefined) ? "?" : nameOf(texts.join("")) || "?";
};

/** Each name with what stands in front of it. */
const namesOf = (line: ShellLine): readonly (readonly [joint: string, name: string])[] =>
  line.flatMap(({ when, body }) => {
    const parts = body.kind === "group" ? [namesOf(body.line)] : body.commands.map(namesOfPart);
    return parts.flatMap((names, at) =>
      names.map(([joint, name], inner) => [inner > 0 ? joint : at > 0 ? " | " : JOINTS[when], name] as const),
    );
  });

const namesOfPart = (part: PipelinePart): readonly (readonly [joint: string, name: string])[] => {
  if (isPipedGroup(part)) return namesOf(part.line);
  const name = writtenName(part.args);
  return name === undefined ? [] : [["", name]];
};

/** `git | head`: the programs that a line starts, without their arguments. */
const lineLabel = (text: string): string => {
  try {
    const names = namesOf(readShellLine(text));
    const label = names
      .slice(0, MAX_NAMES)
      .map(([joint, name], at) => (at === 0 ? name : `${joint}${name}`))
      .join("");
    return names.length > MAX_NAMES ? `${label} …` : label || LINE;
  } catch (thrown) {
    if (thrown instanceof LlmcError) return LINE;
    throw thrown;
  }
};

/** The label of a command as it was given: of a line of several, or with more than plain words, the names of its programs. */
export const labelOf = (command: string | readonly string[]): string => {
  const argv = typeof command === "string" ? plainArguments(command) : command;
  const [program, ...args] = argv ?? [];
  if (program !== undefined) return commandLabel([program, ...args]);
  return typeof command === "string" ? lineLabel(command) : LINE;
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
