import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface ProgramStart {
  /** The file of ours to run. */
  readonly program: string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The descriptor by which the program writes back: 1, or one that nothing else in it writes to. */
  readonly outputFd: 1 | 3;
  /** Descriptors that it inherits from its fourth on; only with outputFd 1. */
  readonly inherited?: readonly number[];
  /** Inherited, or read here. */
  readonly stderr: "inherit" | "pipe";
}

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ProgramProcess {
  readonly pid: number | undefined;
  readonly input: Writable;
  readonly output: Readable;
  kill(): void;
  readonly exited: Promise<ProgramExit>;
}

/** How long a program that has ended may leave its pipes open to somebody else. */
const MAX_CLOSE_MS = 1000;

/** Resolves when a process has ended and its pipes are read to their ends. */
export const whenClosed = (child: ChildProcess): Promise<ProgramExit> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null)
      resolve({ code: child.exitCode, signal: child.signalCode });
    child.once("error", () => resolve({ code: 1, signal: null }));
    child.once("exit", (code, signal) => {
      const timer = setTimeout(() => resolve({ code, signal }), MAX_CLOSE_MS);
      child.once("close", () => {
        clearTimeout(timer);
        resolve({ code, signal });
      });
    });
  });

/** Starts a program of ours beside this one, with the same Node, a pipe to it and one from it. */
export const startProgram = (start: ProgramStart): ProgramProcess => {
  const { program, flags, env, cwd, outputFd, stderr, inherited = ["ignore" as const] } = start;
  const child = spawn(process.execPath, [...flags, program], {
    cwd,
    env: { ...env },
    stdio: outputFd === 1 ? ["pipe", "pipe", stderr, ...inherited] : ["pipe", 2, stderr, "pipe"],
  });
  const [input, output] = [child.stdio[0], child.stdio[outputFd]];
  return {
    pid: child.pid,
    input: input as Writable,
    output: output as Readable,
    kill: () => void child.kill("SIGKILL"),
    exited: whenClosed(child),
  };
};
