import { spawn } from "node:child_process";
import { cleanEnv } from "../workspace.ts";

interface AtTerminal {
  /** Everything that the terminal showed: stdout and stderr together. */
  readonly shown: string;
  readonly code: number | null;
}

interface Options {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with what was shown so far, again and again; returns keys to type, or undefined. */
  readonly type?: (shown: string) => string | undefined;
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Runs a command at a pseudo-terminal, which `script` of util-linux makes. */
export const atTerminal = async (
  command: readonly string[],
  { cwd, env, type }: Options,
): Promise<AtTerminal> => {
  const child = spawn("script", ["-qefc", command.map(quote).join(" "), "/dev/null"], {
    cwd,
    env: { ...cleanEnv(), HOME: cwd, TERM: "xterm", SHELL: "/bin/sh", ...env },
  });
  let shown = "";
  const read = (text: string): void => {
    shown += text;
    const keys = type?.(shown);
    if (keys !== undefined) child.stdin.write(keys);
  };
  child.stdout.setEncoding("utf8").on("data", read);
  child.stderr.setEncoding("utf8").on("data", read);
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { shown: shown.replaceAll("\r\n", "\n"), code };
};

/** Types once, when the text is shown. */
export const when = (text: string, keys: string): ((shown: string) => string | undefined) => {
  let isTyped = false;
  return (shown) => {
    if (isTyped || !shown.includes(text)) return undefined;
    isTyped = true;
    return keys;
  };
};
