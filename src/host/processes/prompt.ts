import { readFileSync } from "node:fs";

/** Longer last lines are output that happens to have no line end. */
const MAX_PROMPT = 200;
/** What prompts end with: `>>> `, `$ `, `Name: `, `Continue? [y/N] `, `(gdb) `. */
const PROMPT = /(?:[>$#%:?»❯\])]|\.\.\.)[ \t]*$/;

/** Whether a text ends with a line that asks for input. */
export const endsWithPrompt = (text: string): boolean => {
  const last = text.slice(Math.max(0, text.length - MAX_PROMPT - 1)).split("\n");
  const line = last.at(-1) ?? "";
  return line.trim() !== "" && line.length <= MAX_PROMPT && PROMPT.test(line);
};

interface Calls {
  readonly read: string;
  /** Calls that wait for any of several descriptors, and which argument says how many. */
  readonly waits: Readonly<Record<string, 1 | 2 | undefined>>;
}

/** Numbers in the kernel's tables of system calls: poll, select, epoll_wait, pselect6, ppoll, epoll_pwait, epoll_pwait2. */
const CALLS: Readonly<Record<string, Calls>> = {
  x64: { read: "0", waits: { 7: 2, 23: 1, 232: undefined, 270: 1, 271: 2, 281: undefined, 441: undefined } },
  arm64: { read: "63", waits: { 22: undefined, 72: 1, 73: 2, 441: undefined } },
};

/** Whether a process sleeps until its standard input has something: `perhaps` where it waits for that or for something else. */
export const readsInput = (pid: number): "yes" | "perhaps" | "no" => {
  const calls = CALLS[process.arch];
  if (calls === undefined) return "perhaps";
  try {
    // The number of the call and its arguments in hexadecimal, see proc(5).
    const [call = "", ...args] = readFileSync(`/proc/${pid}/syscall`, "utf8").split(" ");
    if (call === calls.read) return args[0] === "0x0" ? "yes" : "no";
    if (!Object.hasOwn(calls.waits, call)) return "no";
    const count = calls.waits[call];
    // Waiting for no descriptor at all is a way to sleep.
    return count !== undefined && args[count - 1] === "0x0" ? "no" : "perhaps";
  } catch {
    return "perhaps";
  }
};
