import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { LlmcError } from "../base/error.ts";
import { stopIfAborted } from "./stop-if-aborted.ts";

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
  /** 0: found, 1: nothing found, 2: trouble; null where it was killed. */
  readonly code: number | null;
  readonly isLate: boolean;
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

/** Whoever ends us without a chance to clean up closes its pipe, which ends it at its next word. */
const watchOver = (child: ChildProcess): void => {
  if (running.size === 0) process.once("exit", killAll);
  running.add(child);
  child.once("close", () => {
    running.delete(child);
    if (running.size === 0) process.off("exit", killAll);
  });
};

/** The system says the same of a program and of a directory that cannot be entered. */
const explainStart = (error: Error, rgPath: string): Error => {
  const isAboutPlace = "code" in error && ["ENOENT", "EACCES", "ENOTDIR"].includes(String(error.code));
  try {
    accessSync(rgPath, constants.X_OK);
    return isAboutPlace ? error : unavailable(error);
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
    let isLate = false;

    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, run.timeoutMs);
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
    child.once("close", (code) => settle(() => resolve({ code, isLate, stderr })));
  });
