import { createInterface } from "node:readline/promises";
import { LlmcError } from "../base/error.ts";
import { showControls } from "../base/text.ts";
import { forPeople, type Io } from "../cli/io.ts";
import { readBounded } from "../host/os/read-bounded.ts";
import type { Stderr } from "../host/os/stdio.ts";

/** Ctrl-C and the end of the input are answers, too: without them the question would never be answered. */
const ask = async (question: string): Promise<string> => {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("SIGINT", () => reject(new LlmcError("cancelled", "Nothing was changed.")));
      lines.once("close", () => resolve(""));
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
};

const CLEAR_LINE = "\r\u001b[K";

/** The terminal of this process, as the commands see it. */
export const processTerminal = (stderr: Stderr): Io => {
  const isDumb = process.env["TERM"] === "dumb";
  /** https://no-color.org: present and not empty. */
  const refusesColours = (process.env["NO_COLOR"] ?? "") !== "";
  const hasColours = Boolean(process.stdout.isTTY) && !isDumb && !refusesColours;
  // A reader that has seen enough (`llmc tools | head -1`), or a closed terminal, is no error; and what a call has
  // started is still to be ended in order.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
  });
  return {
    out: (text) => void process.stdout.write(forPeople(text, hasColours)),
    data: (shown) => void process.stdout.write(process.stdout.isTTY ? showControls(shown) : shown),
    err: (text) => stderr.write(showControls(text)),
    redraw: (line) => stderr.write(`${CLEAR_LINE}${showControls(line)}`),
    hasColours,
    canRedraw: Boolean(process.stderr.isTTY) && !isDumb,
    canAsk: Boolean(process.stdin.isTTY) && Boolean(process.stdout.isTTY),
    confirm: async (question) => /^y(es)?$/i.test((await ask(`${showControls(question)} [y/N] `)).trim()),
    ask: async (question) => (await ask(`${showControls(question)} `)).trim(),
    readInput: async (maxBytes) => {
      const read = await readBounded(process.stdin, maxBytes);
      if (read !== undefined) return read;
      throw new LlmcError("file_too_large", `There are more than ${maxBytes} bytes on stdin.`, {
        hint: "Send less.",
        details: { max_bytes: maxBytes },
      });
    },
    onInterrupt: (listener) => {
      // Not only once: a second ctrl-c must not kill the program while it checks what the command left.
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, listener);
    },
  };
};
