import { homedir } from "node:os";
import { posix } from "node:path";
import { LlmcError, toLlmcError } from "../../../base/error.ts";
import { expandToText, expandWord, globSegments, literalOf } from "../../../policy/shell/expand-word.ts";
import type { ExpansionBudget } from "../../../policy/shell/expansion-budget.ts";
import { checkArgumentCount } from "../../../policy/shell/plain-line.ts";
import type { ShellCommand, ShellWord } from "../../../policy/shell/shell-line.ts";
import type { Access } from "../../reach/access.ts";
import { checkVariables } from "../tiers/environment.ts";
import type { Expansion } from "./contract.ts";
import { matchNames } from "./match-names.ts";
import { folderAt, isAbsent } from "./physical-path.ts";

/** What one part of a line leaves behind for the next. */
export interface ShellState {
  /** Absolute, as written: links are followed when it is used. */
  readonly cwd: string;
  readonly previousCwd: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
  /** The names of those that programs get. */
  readonly exported: ReadonlySet<string>;
  readonly lastExit: number;
  /** Folders that `pushd` left, the last one first. */
  readonly folders?: readonly string[];
  /** `set -e`: a command that fails ends the line. */
  readonly isStrict?: boolean;
  /** `set -o pipefail`: a pipeline fails with any of its commands. */
  readonly isPipefail?: boolean;
  /** `exit` was run: nothing of this line, or of this subshell, follows. */
  readonly hasExited?: true;
}

const contextOf = ({ cwd, variables, lastExit }: ShellState, budget: ExpansionBudget) => ({
  home: homedir(),
  budget,
  variable: (name: string): string | undefined => {
    if (name === "?") return String(lastExit);
    if (name === "PWD") return cwd;
    if (name === "HOME") return homedir();
    return Object.hasOwn(variables, name) ? variables[name] : undefined;
  },
});

export const textOf = (word: ShellWord, state: ShellState, { budget }: Pick<Expansion, "budget">): string =>
  expandToText(word, contextOf(state, budget));

/** The target of a redirection; undefined where bash would call it ambiguous. */
export const fileNameOf = (
  word: ShellWord,
  state: ShellState,
  { budget }: Pick<Expansion, "budget">,
): string | undefined => {
  const [field, ...more] = expandWord(word, contextOf(state, budget));
  const isOne = field !== undefined && more.length === 0 && globSegments(field) === undefined;
  return isOne ? literalOf(field) : undefined;
};

/** Programs see no home but one of their own: a path in the user's must lie in a root, and a refusal says so. */
const checkHome = async (word: ShellWord, state: ShellState, expansion: Expansion): Promise<void> => {
  const [first] = word;
  if (first?.kind !== "text" || first.isQuoted || !/^~(\/|$)/.test(first.text)) return;
  await expansion
    .access(textOf(word, state, expansion), expansion.signal, () => {})
    .catch((thrown: unknown) => {
      if (!(thrown instanceof LlmcError && thrown.code === "file_not_found")) throw thrown;
    });
};

export const argumentsOf = async (
  args: readonly ShellWord[],
  state: ShellState,
  expansion: Expansion,
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const word of args) {
    await checkHome(word, state, expansion);
    for (const field of expandWord(word, contextOf(state, expansion.budget))) {
      const names = await matchNames(field, state.cwd, expansion);
      checkArgumentCount(found.length + names.length);
      found.push(...names);
    }
  }
  return found;
};

/** What every command has in its environment, so that a new value reaches it without `export`. */
const IN_ENVIRONMENT = ["LANG", "TERM", "NO_COLOR"];

export const firstState = (cwd: string): ShellState => ({
  cwd,
  previousCwd: undefined,
  variables: {},
  exported: new Set(IN_ENVIRONMENT),
  lastExit: 0,
});

/** The variables that a program gets. */
export const environmentOf = ({ variables, exported }: ShellState): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => exported.has(name)));

/** Later values may use earlier ones. In front of a program, all of them are in its environment. */
export const assign = (
  before: ShellState,
  { assignments, args }: Pick<ShellCommand, "assignments" | "args">,
  budget: Pick<Expansion, "budget">,
): ShellState => {
  if (assignments.length === 0) return before;
  const variables = { ...before.variables };
  const exported = new Set(before.exported);
  const state = { ...before, variables, exported };
  for (const { name, value, isExported } of assignments) {
    if (isExported || args.length > 0) exported.add(name);
    // The name is checked first: a refused variable is often assigned from itself, which has no value here. The value is
    // one that is accepted wherever some value is.
    checkVariables({ [name]: ":" });
    const text = textOf(value, state, budget);
    checkVariables({ [name]: text });
    variables[name] = text;
  }
  return state;
};

/** As written, but each `..` must be behind a folder that is there. */
const logicalPath = async (
  cwd: string,
  target: string,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<string> => {
  let current = target.startsWith("/") ? "/" : cwd;
  for (const name of target.split("/")) {
    if (name === "..") await folderAt(access, current, signal);
    current = posix.join(current, name);
  }
  return posix.resolve(current);
};

/** The state after `cd`, or what a shell would say against it. */
export const changeDirectory = async (
  state: ShellState,
  args: readonly string[],
  access: Access,
  signal: AbortSignal | undefined,
): Promise<ShellState | string> => {
  const [target, ...more] = args[0] === "--" ? args.slice(1) : args;
  if (target === undefined || more.length > 0 || /^-./.test(target))
    throw new LlmcError("invalid_args", "cd takes exactly one directory here.", {
      hint: "Name the directory: cd src && ls.",
      details: { field: "command" },
    });
  const goal = target === "-" ? state.previousCwd : target;
  if (goal === undefined) return "cd: OLDPWD not set";
  try {
    const cwd = await logicalPath(state.cwd, goal, access, signal);
    await folderAt(access, cwd, signal);
    return { ...state, cwd, previousCwd: state.cwd };
  } catch (thrown) {
    if (!isAbsent(thrown)) throw thrown;
    const isFile = toLlmcError(thrown).code === "not_a_directory";
    return `cd: ${target}: ${isFile ? "Not a directory" : "No such file or directory"}`;
  }
};
