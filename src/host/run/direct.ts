import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import { openFifos } from "./tree/fifo.ts";

/** An output stream with a descriptor behind it, as those of a process. */
export type OutStream = NodeJS.WritableStream & { readonly fd: number; readonly isTTY?: boolean };

export interface DirectCall {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Descriptor that the command reads. */
  readonly stdin: number;
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  /** Receives the output; if omitted, the command inherits the streams. */
  readonly onOutput?: ((stream: "stdout" | "stderr", chunk: Buffer) => void) | undefined;
}

export interface DirectOutcome {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Why it could not be started, as a shell would say it. */
  readonly failure?: string;
}

/** Signals that are forwarded, so that stopping te stops the command. */
const FORWARDED = [
  "SIGINT",
  "SIGTERM",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGCONT",
  "SIGWINCH",
] as const;
/** A terminal already sends these to the command, so they are not forwarded. */
const FROM_TERMINAL = new Set<string>(["SIGINT", "SIGQUIT", "SIGWINCH"]);
/** A daemon that the command left behind may hold its output open: what stays silent for two rounds has ended. */
const DRAIN_ROUND_MS = 100;
const DRAIN_ROUNDS = 20;

/**
 * The handlers are installed before the command starts, because others may learn that it runs, and send a signal,
 * before we do.
 */
const forwardSignals = (fds: readonly number[], childOf: () => ChildProcess | undefined): (() => void) => {
  const hasTerminal = fds.some((fd) => isatty(fd));
  const stops = FORWARDED.map((name) => {
    const pass = (): void => {
      if (!(hasTerminal && FROM_TERMINAL.has(name))) childOf()?.kill(name);
    };
    process.on(name, pass);
    return () => void process.off(name, pass);
  });
  return () => {
    for (const stop of stops) stop();
  };
};

const explain = (program: string, error: unknown): DirectOutcome => {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT")
    return { exitCode: 127, signal: undefined, failure: `${program}: command not found` };
  const why = code === "EACCES" ? "Permission denied" : `cannot be started (${code})`;
  return { exitCode: 126, signal: undefined, failure: `${program}: ${why}` };
};

interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  readonly streams: readonly Readable[];
  /** Ends the forwarding of signals. */
  stop(): void;
}

/** Descriptors 1 and 2 of the command become pipes where they are to be read; the others are the caller's. */
const start = async (
  { argv: [program, ...args], cwd, env, stdin, stdout, stderr }: DirectCall,
  piped: readonly number[],
): Promise<Started> => {
  const given = [stdin, stdout.fd, stderr.fd];
  const pipes = piped.length === 0 ? [] : openFifos(piped.length);
  // Node's own pipes are sockets: nearly as good, but a script that opens `/dev/stderr` fails on them.
  const stdio = given.map((own, fd) => {
    const at = piped.indexOf(fd);
    return at < 0 ? own : (pipes?.[at]?.writeEnd ?? "pipe");
  });
  let running: ChildProcess | undefined;
  const stop = forwardSignals(given, () => running);
  try {
    const child = spawn(program, args, { cwd, env: { ...env }, stdio });
    running = child;
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    const sockets = piped.map((fd) => (fd === 1 ? child.stdout : child.stderr));
    const streams = pipes?.map(({ reader }) => reader) ?? sockets.filter((one) => one !== null);
    return { child, exited, streams, stop };
  } catch (error) {
    stop();
    for (const { reader } of pipes ?? []) reader.destroy();
    throw error;
  } finally {
    for (const { writeEnd } of pipes ?? []) closeSync(writeEnd);
  }
};

const outcomeOf = ({ exitCode, signalCode }: ChildProcess): DirectOutcome => ({
  exitCode: exitCode ?? undefined,
  signal: signalCode ?? undefined,
});

const waitForClose = async (streams: readonly Readable[]): Promise<"closed"> => {
  await Promise.all(streams.map((stream) => new Promise<void>((resolve) => stream.once("close", resolve))));
  return "closed";
};

/** The end of the output as far as it is the command's own. */
const drain = async (streams: readonly Readable[], allClosed: Promise<"closed">): Promise<void> => {
  let bytes = 0;
  for (const stream of streams) {
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
  }
  for (let round = 0, silent = 0; round < DRAIN_ROUNDS && silent < 2; round++) {
    const before = bytes;
    if ((await Promise.race([allClosed, sleep(DRAIN_ROUND_MS)])) === "closed") break;
    silent = bytes === before ? silent + 1 : 0;
  }
  for (const stream of streams) stream.destroy();
};

/** Whether stdout can be counted on its way without anybody noticing. */
const isStdoutApart = ({ stdout, stderr }: DirectCall): boolean => {
  if (isatty(stdout.fd)) return false;
  const [out, err] = [fstatSync(stdout.fd), fstatSync(stderr.fd)];
  return out.dev !== err.dev || out.ino !== err.ino;
};

/**
 * Runs a command for the person at this terminal: their environment, their stdin, no gate. Everything that can go wrong
 * with starting it is an exit code, as in a shell.
 */
export const runDirect = async (call: DirectCall): Promise<DirectOutcome> => {
  const { onOutput } = call;
  let started: Started;
  try {
    started = await start(call, onOutput === undefined ? [] : [1, 2]);
  } catch (error) {
    return explain(call.argv[0], error);
  }
  const { child, exited, streams, stop } = started;
  streams.forEach((stream, i) => {
    stream.on("data", (chunk: Buffer) => onOutput?.(i === 0 ? "stdout" : "stderr", chunk));
  });
  const allClosed = waitForClose(streams);
  try {
    await exited;
    await drain(streams, allClosed);
    return outcomeOf(child);
  } finally {
    stop();
  }
};

/** The same with its output going straight through; the callback sees stdout where that can be done unnoticed. */
export const runThrough = async (
  call: Omit<DirectCall, "onOutput">,
  onStdout: (chunk: Buffer) => void,
): Promise<DirectOutcome & { readonly isCounted: boolean }> => {
  const isCounted = isStdoutApart(call);
  if (!isCounted) return { ...(await runDirect(call)), isCounted };
  let started: Started;
  try {
    started = await start(call, [1]);
  } catch (error) {
    return { ...explain(call.argv[0], error), isCounted };
  }
  const { child, exited, streams, stop } = started;
  for (const stream of streams) {
    stream.on("data", onStdout);
    stream.pipe(call.stdout, { end: false });
    // Our reader has gone, so the command's pipe is closed too, and the command gets the same SIGPIPE as without te.
    call.stdout.once("error", () => stream.destroy());
  }
  try {
    // Otherwise our own reader would also wait until every holder of the pipe has closed it.
    await Promise.all([exited, waitForClose(streams)]);
    return { ...outcomeOf(child), isCounted };
  } finally {
    stop();
  }
};
