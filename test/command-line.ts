import { execFile } from "node:child_process";
import { showControls } from "../src/base/text.ts";
import { describeFailure } from "../src/cli/describe-failure.ts";
import { forPeople, type Io } from "../src/cli/io.ts";
import { runCommandLine } from "../src/wiring/commands.ts";
import { testSignals } from "./signals.ts";
import { launcher } from "./workspace.ts";

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly env?: Readonly<Record<string, string>>;
  /** What comes on stdin. */
  readonly input?: string;
}

/** A pipe, as programs give one to the command line, that keeps what was written. */
export const pipeIo = (input = ""): { readonly io: Io; readonly out: string; readonly err: string } => {
  const written = { out: "", err: "" };
  const toOut = (text: string): void => {
    written.out += text;
  };
  const toErr = (text: string): void => {
    written.err += showControls(text);
  };
  const io: Io = {
    out: (text) => toOut(forPeople(text, false)),
    data: toOut,
    err: toErr,
    redraw: toErr,
    hasColours: false,
    canRedraw: false,
    canAsk: false,
    confirm: async () => false,
    ask: async () => "",
    readInput: async (maxBytes) => {
      if (Buffer.byteLength(input) > maxBytes) throw new Error("the input is longer than the command reads");
      return input;
    },
    onInterrupt: () => {},
  };
  return Object.assign(written, { io });
};

/** Who starts the program: nobody but the tested folder's own user. */
const environment = (cwd: string, env: Started["env"]): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: cwd,
  ...env,
});

/** Runs a command in this process, without the start of Node that hundreds of commands would have to wait for. */
export const runLlmc = async (
  cwd: string,
  args: readonly string[],
  { env, input = "" }: Started = {},
): Promise<Ended> => {
  const pipe = pipeIo(input);
  let code = 0;
  const whole = environment(cwd, env);
  const run = {
    cwd,
    home: whole["HOME"] ?? cwd,
    env: whole,
    io: pipe.io,
    stderr: { write: pipe.io.err, flush: async () => {} },
    signals: testSignals().signals,
    setExitCode: (next: number) => {
      code = next;
    },
  };
  await runCommandLine(args, run).catch((thrown: unknown) => {
    const { text, exit } = describeFailure(thrown);
    pipe.io.err(text);
    code = exit;
  });
  return { code, out: pipe.out, err: pipe.err };
};

/** Runs a command as people do: the launcher, its Node, and a process of its own. */
export const startLlmc = (
  cwd: string,
  args: readonly string[],
  { env, input = "" }: Started = {},
  program = launcher,
): Promise<Ended> =>
  new Promise((done) => {
    const child = execFile(program, args, { cwd, env: environment(cwd, env) }, (error, out, err) =>
      done({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err }),
    );
    child.stdin?.end(input);
  });
