import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { endingWithUs, isStartFailure, limitMemory } from "../os/child-limits.ts";
import { readProcStat } from "../os/proc-stat.ts";
import { findUnreadableBelow, refuseUnreadableAbove } from "./ignore-files.ts";

/** What ripgrep says about one path that it could not read; the name may have line breaks of its own. */
const FAILURE = /^rg: \.\/(.*): .* \(os error (\d+)\)$/s;
const FAILURE_END = / \(os error \d+\)$/;
/** A file that went away while it was searched for is not a failure. */
const ENOENT = "2";
/** Longer than any path with its message. */
const MAX_CHARS = 16 * 1024;

/** Tells what ripgrep says about single paths from complaints about the search, which come without one. */
const createPathFailures = (onUnread: (path: string) => void) => {
  let rest = "";
  let message = "";
  let hasAny = false;
  const takeLine = (line: string): void => {
    message = line.startsWith("rg: ") ? line : `${message}\n${line}`.slice(-MAX_CHARS);
    if (!FAILURE_END.test(line)) return;
    hasAny = true;
    // A line without a path is the end of a name that pretends to be a message.
    const [, path = "", code] = FAILURE.exec(message) ?? [];
    if (code !== ENOENT) onUnread(path);
    message = "";
  };
  return {
    /** Standard error as it comes. */
    take: (text: string): void => {
      const lines = `${rest}${text}`.split("\n");
      rest = (lines.pop() ?? "").slice(-MAX_CHARS);
      for (const line of lines) takeLine(line);
    },
    /** Whether a path failed, for whatever reason: then nothing was wrong with the search as such. */
    hasAny: (): boolean => hasAny,
  };
};

export interface RipgrepRun {
  readonly rgPath: string;
  readonly args: readonly string[];
  /** Where it runs; best a path through a descriptor, which a swapped directory cannot bend. */
  readonly cwd: string;
  /** A descriptor to search instead of files. */
  readonly stdin?: number | undefined;
  /** Text to search instead of files. */
  readonly input?: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** The real path of the directory whose ignore files it obeys, and those above; if omitted, it obeys none. */
  readonly ignoreRoot?: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Standard output as it comes. */
  readonly take: (chunk: Buffer) => void;
  /** Standard error as it comes. */
  readonly takeError?: (text: string) => void;
  /** A path below the working directory that it could not read. */
  readonly onUnread?: (path: string) => void;
}

export interface RipgrepEnd {
  /** 0: found, 1: nothing found, 2: an error; null where it was killed, as it is when time is up. */
  readonly code: number | null;
  /** The beginning of what it complained about before it read anything; empty where it got so far. */
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

/** No search process outlives the server; if the server is killed, the kernel ends them (`endingWithUs`). */
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

const refuseMissing = (rgPath: string): void => {
  try {
    accessSync(rgPath, constants.X_OK);
  } catch (error) {
    throw unavailable(error);
  }
};

/** Until the first check: most searches end before it. */
const FIRST_CHECK_MS = 150;
const CHECK_MS = 250;
/** This many checks without progress are a standstill. */
const STILL_CHECKS = 2;
/**
 * Of processor time between two checks, in hundredths of a second: half of one core. Less is not work, since threads that
 * wait for a stuck one poll a thousand times a second.
 */
const IDLE_TICKS = 12;

/** More than any search of ours needs. */
const MAX_MEMORY_BYTES = 1024 ** 3;

/** Bounds the memory of a search that lasts, and calls back once where it makes no progress. */
const watchProgress = (pid: number, bytesSoFar: () => number, onStandstill: () => void): (() => void) => {
  let [bytes, ticks, still] = [0, 0, 0];
  let timer = setTimeout(() => {
    limitMemory(pid, MAX_MEMORY_BYTES);
    timer = setInterval(check, CHECK_MS);
    timer.unref();
  }, FIRST_CHECK_MS);
  const check = (): void => {
    const now = [bytesSoFar(), readProcStat(pid)?.cpuTicks ?? 0] as const;
    still = now[0] === bytes && now[1] - ticks < IDLE_TICKS ? still + 1 : 0;
    [bytes, ticks] = now;
    if (still !== STILL_CHECKS) return;
    clearInterval(timer);
    onStandstill();
  };
  timer.unref();
  return () => clearTimeout(timer);
};

const died = (signal: NodeJS.Signals | null): LlmcError =>
  new LlmcError("unavailable", `The search program was ended by the system (${signal ?? "unknown"}).`, {
    hint: "It may have needed too much memory. Search a smaller folder, or a simpler pattern.",
  });

/** Ends the process when the caller leaves or time is up, and settles once. */
const follow = (
  child: ChildProcess,
  run: RipgrepRun,
  resolve: (end: RipgrepEnd) => void,
  reject: (error: unknown) => void,
): void => {
  const { signal, ignoreRoot } = run;
  const isOver = new AbortController();
  const failures = createPathFailures((path) => run.onUnread?.(path));
  let stderr = "";
  let bytes = 0;
  let isTimeUp = false;

  const timer = setTimeout(() => {
    isTimeUp = true;
    child.kill("SIGKILL");
  }, run.timeoutMs);
  const settle = (finish: () => void): void => {
    clearTimeout(timer);
    stopWatching();
    isOver.abort();
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
  const findCulprit = async (): Promise<LlmcError | undefined> =>
    ignoreRoot === undefined ? undefined : findUnreadableBelow(run.cwd, isOver.signal);
  const stopWatching = watchProgress(
    child.pid ?? 0,
    () => bytes,
    () =>
      void findCulprit().then((culprit) => {
        if (culprit !== undefined && !isOver.signal.aborted) fail(culprit);
      }, fail),
  );
  const finish = (code: number | null, how: NodeJS.Signals | null): void => {
    if (isOver.signal.aborted) return;
    if (isStartFailure(code)) fail(unavailable(new Error(stderr)));
    else if (code !== null || isTimeUp)
      settle(() => resolve({ code, stderr: failures.hasAny() ? "" : stderr }));
    else findCulprit().then((culprit) => fail(culprit ?? died(how)), fail);
  };

  signal?.addEventListener("abort", leave, { once: true });
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    try {
      run.take(chunk);
    } catch (error) {
      fail(error);
    }
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    run.takeError?.(text);
    failures.take(text);
    if (stderr.length < MAX_STDERR_CHARS) stderr += text.slice(0, MAX_STDERR_CHARS - stderr.length);
  });
  child.once("error", (error) => fail(systemErrorCode(error) === "ENOEXEC" ? unavailable(error) : error));
  child.once("close", finish);
};

const isPrematureClose = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";

/**
 * One process, without a shell, with an empty environment; killed when the caller leaves or time is up, and by the kernel
 * when we are gone. What goes wrong is an error, never an empty answer.
 */
export const runRipgrep = async (run: RipgrepRun): Promise<RipgrepEnd> => {
  stopIfAborted(run.signal);
  if (run.ignoreRoot !== undefined) refuseUnreadableAbove(run.ignoreRoot);
  const { file, args } = await endingWithUs(run.rgPath, run.args);
  // Otherwise the wrapper reports it in its own words, and the system like an inaccessible working directory.
  refuseMissing(run.rgPath);
  stopIfAborted(run.signal);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: run.cwd,
      env: {},
      stdio: [run.input === undefined ? (run.stdin ?? "ignore") : "pipe", "pipe", "pipe"],
    });
    // It may end before it has read everything; whatever fails in making the text fails the search.
    if (run.input !== undefined && child.stdin !== null)
      pipeline(Readable.from(run.input), child.stdin).catch((error: unknown) => {
        if (systemErrorCode(error) !== "EPIPE" && !isPrematureClose(error)) reject(error);
      });
    watchOver(child);
    follow(child, run, resolve, reject);
  });
};
