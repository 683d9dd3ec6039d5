import { LlmcError, PROMOTED_TOOLS, withHint } from "../../base/error.ts";

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
/** Kept only where programs are listed. */
const PROGRAM = "Or write it as a program: execute_code.";
const LOOP = `Name all files in one command, use a glob, or make one call for each. ${PROGRAM}`;

/** What only a shell can do, by the name that people know it under. */
const CONSTRUCTS = {
  command_substitution: { name: "command substitution", wayOut: PRINT_FIRST },
  process_substitution: {
    name: "process substitution",
    wayOut: "Write the output to a file first, and name the file.",
  },
  arithmetic: { name: "arithmetic", wayOut: "Write the number itself." },
  expansion: {
    name: "parameter expansion",
    wayOut: `Write the value itself; $NAME, \${NAME:-default}, \${NAME##*/} and \${NAME%.js} work.`,
  },
  special_parameter: { name: "special parameters", wayOut: "Write the value itself." },
  function: { name: "a function", wayOut: `${ONE_BY_ONE} ${PROGRAM}` },
  declaration: { name: "declare and its kin", wayOut: "Write NAME=value before the program." },
  array: { name: "arrays", wayOut: "Write the values themselves." },
} as const satisfies Readonly<Record<string, Construct>>;

/** The words that begin or continue a construct where a program's name is expected. */
const RESERVED: ReadonlyMap<string, Construct> = new Map([
  ...["for", "select"].map((word) => [word, { name: "a for loop", wayOut: LOOP }] as const),
  ...["while", "until"].map(
    (word) => [word, { name: `${word === "while" ? "a while" : "an until"} loop`, wayOut: LOOP }] as const,
  ),
  ...["if", "then", "else", "elif", "fi"].map(
    (word) => [word, { name: "if", wayOut: `Use && and ||. ${PROGRAM}` }] as const,
  ),
  ...["case", "esac"].map((word) => [word, { name: "case", wayOut: "Use && and ||." }] as const),
  ...["do", "done"].map((word) => [word, { name: "a loop", wayOut: LOOP }] as const),
  [
    "[[",
    {
      name: "this test in double brackets",
      wayOut:
        "One test with -e, -f, -d, -n, -z, == or != works in them: [[ -f a ]] && [[ -d b ]]. Numbers are compared in [ … ].",
    },
  ],
  ["function", CONSTRUCTS.function],
  ["coproc", { name: "a coprocess", wayOut: ONE_BY_ONE }],
  ["unset", { name: "unset", wayOut: "Leave the variable out." }],
  ...["declare", "typeset", "readonly", "local"].map((word) => [word, CONSTRUCTS.declaration] as const),
]);

/** Commands that a shell carries out on itself. */
const SHELL_COMMANDS: ReadonlyMap<string, string> = new Map([
  ...["eval", "source", ".", "exec", "builtin"].map(
    (name) => [name, "Write the commands themselves."] as const,
  ),
  ["dirs", "pwd shows the folder."],
  ...["alias", "unalias", "shopt", "trap", "umask", "ulimit"].map(
    (name) => [name, "Leave it out: every line starts with a clean state."] as const,
  ),
  ...["read", "mapfile", "readarray", "getopts", "shift", "let"].map(
    (name) => [name, "Write the values themselves."] as const,
  ),
  ...["wait", "jobs", "fg", "bg", "disown"].map(
    (name) => [name, "Leave it out: a call waits for its command."] as const,
  ),
  ...["hash", "history", "fc", "bind", "complete", "compgen", "enable", "help", "logout", "times"].map(
    (name) => [name, "Leave it out."] as const,
  ),
]);

/** Kept only where the tool is not listed. */
const OFFER = `Or the operator offers linux_proc_start for that: ${PROMOTED_TOOLS}.`;

/** Programs that people put in front of others by habit, and that would change nothing that matters here. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ...["sudo", "doas"].map(
    (name) =>
      [name, "Leave it out: commands run as the user who runs llmc, and cannot become another."] as const,
  ),
  [
    "nohup",
    `Leave it out: the call waits for the command, up to its timeout. Start what should go on with linux_proc_start. ${OFFER}`,
  ],
  ["timeout", "Leave it out: the call itself takes a timeout in seconds, as the argument timeout."],
  [
    "time",
    "Leave it out. Where bash is allowed, bash -c 'time …' prints the time; clients find it in meta.duration_ms.",
  ],
]);

/** `source .venv/bin/activate` only makes the programs beside that file come first. */
const environmentHint = (name: string, file: string | undefined): string | undefined => {
  const folder = /^([\w.+/-]*\/)activate$/.exec(file ?? "")?.[1];
  return folder === undefined || !["source", "."].includes(name)
    ? undefined
    : `Leave it out and write the programs with their path, as in ${folder}python; the operator can allow them: llmc allow ${folder}python.`;
};

/** Throws for a command that only a shell has or that is needless; `which` is also a program, and goes by the list. */
export const refuseShellCommand = ([name = "", file]: readonly string[], isListed: boolean): void => {
  if (isListed) return;
  const wayOut = SHELL_COMMANDS.get(name);
  if (wayOut !== undefined) throw refuseConstruct(name, name, environmentHint(name, file) ?? wayOut);
  const without = PREFIXES.get(name);
  if (without !== undefined)
    throw new LlmcError("invalid_args", `${name} is not used in front of commands here.`, {
      hint: without,
      details: { field: "command", construct: name },
    });
};

/** The line is fine for a shell, but it is not something that llmc can run without one. */
export const refuseNamed = (construct: keyof typeof CONSTRUCTS, source: string): LlmcError => {
  const { name, wayOut } = CONSTRUCTS[construct];
  return refuseConstruct(name, source, wayOut);
};

/** Most substitutions of agents hold the message of a commit, for which there is a way without one. */
export const explainSubstitution = (error: LlmcError, before: string): LlmcError =>
  error.details?.["construct"] === CONSTRUCTS.command_substitution.name &&
  /\bgit\s(?:[^\n;&|]*\s)?commit\s[^\n;&|]*$/.test(before)
    ? withHint(error, "Give the message as input: git commit -F - <<'EOF', its lines, and EOF")
    : error;

export const refuseReserved = (word: string, source: string): void => {
  const construct = RESERVED.get(word);
  if (construct !== undefined) throw refuseConstruct(construct.name, source, construct.wayOut);
};

const NO_SHELL = "There is no shell here";

/** In brackets: the hint that follows would read like more of the line. */
const where = (name: string, source: string): string => (source === name ? "" : ` (${excerpt(source)})`);

/** Where the operator allowed a shell, that is the shortest way. */
export const explainShell = (thrown: unknown, isListed: (program: string) => boolean): unknown => {
  const shell = ["bash", "sh"].find(isListed);
  if (shell === undefined || !(thrown instanceof LlmcError) || !thrown.message.startsWith(NO_SHELL))
    return thrown;
  return withHint(thrown, `Or give the whole line to ${shell}, which is allowed: ${shell} -c '…'`);
};

export const refuseConstruct = (name: string, source: string, wayOut: string): LlmcError =>
  new LlmcError("invalid_args", `${NO_SHELL}, and ${name} needs one${where(name, source)}.`, {
    hint: `${wayOut} Pipes, &&, ||, ;, groups, subshells, cd, globs, quotes, redirections, NAME=value and [[ ]] work.`,
    details: { field: "command", construct: name },
  });

export const refuseBackground = (source: string): LlmcError =>
  refuseConstruct(
    "a background job (&)",
    source,
    `Leave & out: the call waits for the command, up to its timeout. Start what should go on with linux_proc_start. ${OFFER}`,
  );

export const refuseSyntax = (source: string, why: string): LlmcError =>
  new LlmcError("invalid_args", `The command line cannot be read: ${excerpt(source)} ${why}.`, {
    hint: "Check quotes and operators; put quotes around text that holds special characters.",
    details: { field: "command" },
  });
