import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../stop-if-aborted.ts";

export interface RipgrepRun {
  readonly rgPath: string;
  readonly args: readonly string[];
  /** Where it runs; best a path through a descriptor, which a swapped directory cannot bend. */
  readonly cwd: string;
  /** A descriptor to search instead of files. */
  readonly stdin?: number | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Standard output as it comes. */
  readonly take: (chunk: Buffer) => void;
}

export interface RipgrepEnd {
  /** 0: found, 1: nothing found, 2: trouble; null where it was killed, as it is when time is up. */
  readonly code: number | null;
  /** The beginning of what it complained about. */
  readonly stderr: string;
}

// Its longest complaint quotes a whole pattern, and the position below it, twice over.
const MAX_STDERR_CHARS = 32 * 1024;

const unavailable = (cause: unknown): LlmcError =>
  new LlmcError("unavailable", "The search program (ripgrep) cannot be started.", {
    hint: "Install llmc again with its optional dependencies: npm install --include=optional.",
    cause,
  });

/** The program that came with us. Loaded on need: the package throws where it has none for this platform. */
export const findRipgrep = async (): Promise<string> => {
  try {
    return (await import("@vscode/ripgrep")).rgPath;
  } catch (error) {
    throw unavailable(error);
  }
};

const running = new Set<ChildProcess>();
const killAll = (): void => {
  for (const child of running) child.kill("SIGKILL");
};

/** None outlives us. Where we are killed ourselves, it ends at its next word, since nobody holds the pipe any more. */
const watchOver = (child: ChildProcess): void => {
  const forget = (): void => {
    running.delete(child);
    if (running.size === 0) process.off("exit", killAll);
  };
  if (running.size === 0) process.once("exit", killAll);
  running.add(child);
  child.once("close", forget);
  // Without descriptors left there is no process, and nothing to close.
  child.once("error", forget);
};

/** Of a directory that cannot be entered the system says the same as of the program. */
const explainStart = (error: Error, rgPath: string): Error => {
  try {
    accessSync(rgPath, constants.X_OK);
    return "code" in error && error.code === "ENOEXEC" ? unavailable(error) : error;
  } catch {
    return unavailable(error);
  }
};

/** One process, without a shell, with an empty environment; killed when the caller leaves or time is up. */
export const runRipgrep = (run: RipgrepRun): Promise<RipgrepEnd> =>
  new Promise((resolve, reject) => {
    const { signal } = run;
    stopIfAborted(signal);
    const child = spawn(run.rgPath, run.args, {
      cwd: run.cwd,
      env: {},
      stdio: [run.stdin ?? "ignore", "pipe", "pipe"],
    });
    watchOver(child);
    let stderr = "";

    const timer = setTimeout(() => child.kill("SIGKILL"), run.timeoutMs);
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      finish();
    };
    const fail = (error: unknown): void => {
      child.kill("SIGKILL");
      child.stdout?.destroy();
      settle(() => reject(error));
    };
    const leave = (): void => {
      try {
        stopIfAborted(signal);
      } catch (error) {
        fail(error);
      }
    };
    signal?.addEventListener("abort", leave, { once: true });

    child.stdout?.on("data", (chunk: Buffer) => {
      try {
        run.take(chunk);
      } catch (error) {
        fail(error);
      }
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < MAX_STDERR_CHARS) stderr += text.slice(0, MAX_STDERR_CHARS - stderr.length);
    });
    child.once("error", (error) => fail(explainStart(error, run.rgPath)));
    child.once("close", (code) => settle(() => resolve({ code, stderr })));
  });
