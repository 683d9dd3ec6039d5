import type { Access } from "../../reach/access.ts";
import { changeDirectory, type ShellState } from "./shell-state.ts";

export interface BuiltinResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly state: ShellState;
}

type Builtin = (
  args: readonly string[],
  state: ShellState,
  access: Access,
  signal: AbortSignal | undefined,
) => BuiltinResult | Promise<BuiltinResult>;

const said = (state: ShellState, stdout: string, exitCode = 0): BuiltinResult => ({
  exitCode,
  stdout,
  stderr: "",
  state,
});

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

/** The options of bash's own: `-n` no newline, `-e` escapes, `-E` none. */
const echo = (args: readonly string[]): string => {
  const firstWord = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const at = firstWord < 0 ? args.length : firstWord;
  const letters = args.slice(0, at).join("");
  const text = args.slice(at).join(" ");
  const isEscaped = letters.lastIndexOf("e") > letters.lastIndexOf("E");
  const shown = isEscaped
    ? text.replaceAll(/\\([abefnrtv\\])/g, (whole, letter: string) => ESCAPES[letter] ?? whole)
    : text;
  return letters.includes("n") ? shown : `${shown}\n`;
};

/** What a shell does itself. They start nothing, so no list has to allow them. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  ["true", (_args, state) => said(state, "")],
  [":", (_args, state) => said(state, "")],
  ["false", (_args, state) => said(state, "", 1)],
  ["pwd", (_args, state) => said(state, `${state.cwd}\n`)],
  ["echo", (args, state) => said(state, echo(args))],
  [
    "cd",
    async (args, state, access, signal) => {
      const next = await changeDirectory(state, args, access, signal);
      return typeof next === "string"
        ? { exitCode: 1, stdout: "", stderr: `${next}\n`, state }
        : said(next, "");
    },
  ],
]);
