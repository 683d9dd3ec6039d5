import { LlmcError } from "../../base/error.ts";
import type { ShellTree } from "./shell-line.ts";

const SHOWN = 60;

const excerpt = (source: string): string => {
  const line = source.replaceAll(/\s+/g, " ").trim();
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line;
};

interface Construct {
  readonly name: string;
  readonly wayOut: string;
}

const ONE_BY_ONE = "Run the commands one by one, each in its own call.";
const PRINT_FIRST = "Run the inner command first and put its output into the next call.";
const LOOP = "Name all files in one command, use a glob, or make one call for each.";

/** What only a shell can do, by the name that people know it under. */
const CONSTRUCTS: Readonly<Record<string, Construct>> = {
  command_substitution: { name: "command substitution", wayOut: PRINT_FIRST },
  process_substitution: {
    name: "process substitution",
    wayOut: "Write the output to a file first, and name the file.",
  },
  arithmetic_expansion: { name: "arithmetic", wayOut: "Write the number itself." },
  expansion: {
    name: "parameter expansion",
    wayOut: "Write the value itself; $NAME works for a name assigned in this line.",
  },
  simple_expansion: { name: "special parameters", wayOut: "Write the value itself." },
  for_statement: { name: "a for loop", wayOut: LOOP },
  c_style_for_statement: { name: "a for loop", wayOut: LOOP },
  while_statement: { name: "a while loop", wayOut: LOOP },
  if_statement: { name: "if", wayOut: "Use && and ||." },
  case_statement: { name: "case", wayOut: "Use && and ||." },
  test_command: { name: "a test in brackets", wayOut: "Use linux_fs_stat, or ls NAME && …" },
  function_definition: { name: "a function", wayOut: ONE_BY_ONE },
  declaration_command: { name: "declare and its kin", wayOut: "Write NAME=value before the program." },
  unset_command: { name: "unset", wayOut: "Leave the variable out." },
  subscript: { name: "arrays", wayOut: "Write the values themselves." },
  array: { name: "arrays", wayOut: "Write the values themselves." },
};

/** Commands that a shell carries out on itself. */
const SHELL_COMMANDS: ReadonlyMap<string, string> = new Map([
  ...["eval", "source", ".", "exec", "command", "builtin"].map(
    (name) => [name, "Write the commands themselves."] as const,
  ),
  ...["alias", "unalias", "set", "shopt", "trap", "umask", "ulimit", "hash"].map(
    (name) => [name, "Leave it out: every line starts with a clean state."] as const,
  ),
  ...["read", "mapfile", "readarray", "getopts", "shift", "let", "local"].map(
    (name) => [name, "Write the values themselves."] as const,
  ),
  ...["wait", "jobs", "fg", "bg", "disown"].map(
    (name) => [name, "Start what should go on with linux_proc_start."] as const,
  ),
  ...["type", "which", "test", "["].map(
    (name) => [name, "Use ls NAME && …, or stat; a refusal says which programs may be run."] as const,
  ),
]);

/** Throws for a command that only a shell has; `which` and `test` exist as programs, too, and go by the list. */
export const refuseShellCommand = (name: string, isListed: boolean): void => {
  const wayOut = SHELL_COMMANDS.get(name);
  if (wayOut !== undefined && !isListed) throw refuseConstruct(name, name, wayOut);
};

/** The line is fine for a shell, but it is not something that llmc can run without one. */
export const unsupported = (node: ShellTree): LlmcError => {
  const { name, wayOut } = CONSTRUCTS[node.type] ?? {
    name: node.type.replaceAll("_", " "),
    wayOut: ONE_BY_ONE,
  };
  return refuseConstruct(name, node.text, wayOut);
};

export const refuseConstruct = (name: string, source: string, wayOut: string): LlmcError =>
  new LlmcError("invalid_args", `There is no shell here, and ${name} needs one: ${excerpt(source)}`, {
    hint: `${wayOut} Pipes, &&, ||, ;, cd, globs, quotes, redirections and NAME=value work.`,
    details: { field: "command", construct: name },
  });

export const refuseBackground = (source: string): LlmcError =>
  refuseConstruct("a background job (&)", source, "Start what should go on with linux_proc_start.");

export const refuseSyntax = (source: string, why: string): LlmcError =>
  new LlmcError("invalid_args", `The command line cannot be read: ${excerpt(source)} ${why}.`, {
    hint: "Check quotes and operators; put quotes around text that holds special characters.",
    details: { field: "command" },
  });
