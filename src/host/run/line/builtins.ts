import { LlmcError } from "../../../base/error.ts";
import { ESCAPED_LETTERS } from "../../../policy/shell/read-word.ts";
import type { Access } from "../../reach/access.ts";
import { describeNames, type Locate, which } from "./lookup-builtins.ts";
import { changeDirectory, type ShellState } from "./shell-state.ts";
import { changeStack, setOptions } from "./state-builtins.ts";
import { evaluateTest } from "./test-builtin.ts";

export interface BuiltinResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly state: ShellState;
}

interface BuiltinPorts {
  readonly access: Access;
  readonly signal: AbortSignal | undefined;
  readonly locate: Locate;
}

type Builtin = (
  args: readonly string[],
  state: ShellState,
  ports: BuiltinPorts,
) => BuiltinResult | Promise<BuiltinResult>;

const resultOf = (state: ShellState, stdout: string, exitCode = 0): BuiltinResult => ({
  exitCode,
  stdout,
  stderr: "",
  state,
});

/** What stands for itself behind a backslash in a format of printf, and not for echo. */
const PRINTF_ESCAPES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "?": "?" };

const readEscapes = (text: string, more: Readonly<Record<string, string>> = {}): string =>
  text.replaceAll(/\\([\s\S])/g, (whole, letter: string) => {
    if (/[xuUc\d]/.test(letter))
      throw new LlmcError("invalid_args", `The escape ${whole} is not understood here.`, {
        hint: "Write the character itself.",
        details: { field: "command" },
      });
    return letter === "\\" ? letter : (ESCAPED_LETTERS[letter] ?? more[letter] ?? whole);
  });

/** The options of bash's own: `-n` no newline, `-e` escapes, `-E` none. */
const echo = (args: readonly string[]): string => {
  const firstWord = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const at = firstWord < 0 ? args.length : firstWord;
  const letters = args.slice(0, at).join("");
  const text = args.slice(at).join(" ");
  const isEscaped = letters.lastIndexOf("e") > letters.lastIndexOf("E");
  const shown = isEscaped ? readEscapes(text) : text;
  return letters.includes("n") ? shown : `${shown}\n`;
};

const CONVERSION = /%(%|(-?)(0?)(\d{0,3})([sdb]))|%/g;

/** Bash reads 010 and 0x10 as other numbers, and goes on behind an error; 64 bits hold all of these. */
const PLAIN_INTEGER = /^(?:0|-?[1-9]\d{0,17})$/;

const convert = (argument: string, left: string, zero: string, width: string, letter: string): string => {
  const text = letter === "b" ? readEscapes(argument) : argument;
  const shown = letter === "d" && text === "" ? "0" : text;
  if (letter === "d" && !PLAIN_INTEGER.test(shown)) throw badPrintf("%d takes a decimal number here");
  // Bash counts bytes.
  if (width !== "" && /[^\0-\x7f]/.test(shown))
    throw badPrintf("a width and letters beyond ASCII do not go together");
  if (left !== "") return shown.padEnd(Number(width));
  if (zero === "" || letter !== "d") return shown.padStart(Number(width));
  const sign = shown.startsWith("-") ? "-" : "";
  return sign + shown.slice(sign.length).padStart(Number(width) - sign.length, "0");
};

const badPrintf = (why: string): LlmcError =>
  new LlmcError("invalid_args", `printf: ${why}.`, {
    hint: "Here it knows %s, %b, %d with a width, and %%.",
    details: { field: "command" },
  });

/** What a built-in command may say: it is held in memory. Arguments are bounded, but a format multiplies them. */
const MAX_PRINTF_CHARS = 2 * 1024 * 1024;

/** The format is used again until all arguments are. */
const printf = ([format, ...args]: readonly string[]): string => {
  if (format === undefined || format.startsWith("-")) throw badPrintf("a format must come first");
  const readFormat = readEscapes(format, PRINTF_ESCAPES);
  let next = 0;
  let text = "";
  let left = MAX_PRINTF_CHARS;
  const spend = (chars: number): void => {
    left -= chars;
    if (left < 0) throw badPrintf(`the text is longer than ${MAX_PRINTF_CHARS} characters`);
  };
  do {
    const before = next;
    spend(readFormat.length);
    let at = 0;
    // One by one: a replacement of all would hold every match before the first is paid for.
    for (const {
      0: whole,
      1: kind,
      2: left = "",
      3: zero = "",
      4: width = "",
      5: letter,
      index,
    } of readFormat.matchAll(CONVERSION)) {
      text += readFormat.slice(at, index);
      at = index + whole.length;
      if (kind === "%") {
        text += "%";
        continue;
      }
      if (letter === undefined) throw badPrintf(`${whole} begins no conversion that is known here`);
      const argument = args[next++] ?? "";
      spend(Math.max(argument.length, Number(width)));
      text += convert(argument, left, zero, width, letter);
    }
    text += readFormat.slice(at);
    if (next === before) break;
  } while (next < args.length);
  return text;
};

/** As in bash, a status has eight bits, and arguments that it does not understand still end the line. */
const exit = ([status, ...more]: readonly string[], state: ShellState): BuiltinResult => {
  const ended = { ...state, hasExited: true } as const;
  if (status === undefined) return resultOf(ended, "", state.lastExit);
  if (!/^[-+]?\d{1,15}$/.test(status))
    return { exitCode: 2, stdout: "", stderr: `exit: ${status}: numeric argument required\n`, state: ended };
  if (more.length > 0) return { exitCode: 1, stdout: "", stderr: "exit: too many arguments\n", state: ended };
  return resultOf(ended, "", ((Number(status) % 256) + 256) % 256);
};

const pwd = (args: readonly string[], { cwd }: ShellState): string => {
  if (args.some((arg) => arg.startsWith("-") && arg !== "-L"))
    throw new LlmcError("invalid_args", "pwd takes no option here.", {
      hint: "realpath . shows the folder without links.",
      details: { field: "command" },
    });
  return `${cwd}\n`;
};

/** What a shell does itself. They start nothing, so no list has to allow them. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  ["true", (_args, state) => resultOf(state, "")],
  [":", (_args, state) => resultOf(state, "")],
  ["false", (_args, state) => resultOf(state, "", 1)],
  ["exit", exit],
  ["set", (args, state) => resultOf(setOptions(args, state), "")],
  ["which", async (args, state, { locate }) => ({ ...(await which(args, locate)), state })],
  ...(["type", "command"] as const).map((name): [string, Builtin] => [
    name,
    async (args, state, { locate }) => ({
      ...(await describeNames(name, args, locate, (one) => BUILTINS.has(one))),
      state,
    }),
  ]),
  ...(["pushd", "popd"] as const).map((name): [string, Builtin] => [
    name,
    async (args, state, { access, signal }) => {
      const result = await changeStack(name, args, state, access, signal);
      return typeof result === "string"
        ? { exitCode: 1, stdout: "", stderr: `${result}\n`, state }
        : resultOf(result.state, result.stdout);
    },
  ]),
  ["pwd", (args, state) => resultOf(state, pwd(args, state))],
  ["echo", (args, state) => resultOf(state, echo(args))],
  ["printf", (args, state) => resultOf(state, printf(args))],
  [
    "test",
    async (args, state, { access, signal }) =>
      resultOf(state, "", (await evaluateTest(args, state.cwd, access, signal)) ? 0 : 1),
  ],
  [
    "[",
    async (args, state, { access, signal }) => {
      if (args.at(-1) !== "]") return { exitCode: 2, stdout: "", stderr: "[: missing `]'\n", state };
      return resultOf(state, "", (await evaluateTest(args.slice(0, -1), state.cwd, access, signal)) ? 0 : 1);
    },
  ],
  [
    "cd",
    async (args, state, { access, signal }) => {
      const next = await changeDirectory(state, args, access, signal);
      return typeof next === "string"
        ? { exitCode: 1, stdout: "", stderr: `${next}\n`, state }
        : resultOf(next, args.at(-1) === "-" ? `${next.cwd}\n` : "");
    },
  ],
]);
