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

/** Number of `read` in the kernel's table of system calls. */
const READ: Readonly<Record<string, string>> = { x64: "0", arm64: "63" };

/** Whether a process sleeps in a read of its standard input. False where the system does not tell. */
export const isReadingInput = (pid: number): boolean => {
  try {
    // The number of the call and its arguments in hexadecimal, see proc(5).
    const [call, descriptor] = readFileSync(`/proc/${pid}/syscall`, "utf8").split(" ");
    return call === READ[process.arch] && descriptor === "0x0";
  } catch {
    return false;
  }
};
