import { setTimeout as sleep } from "node:timers/promises";
import type { ReachedLimit } from "../../../base/limit-notes.ts";
import { openPipe } from "./pipe.ts";
import { collect, type Launch, type Output, ProcessTree, type TreeStdio } from "./process-tree.ts";
import type { UsageWatch } from "./usage-watch.ts";

/** Where a stream goes: to a descriptor, or to whoever watches the command's output. */
export type Sink = number | "stdout" | "stderr";

export interface TreeStreams {
  readonly input: number | "ignore";
  readonly output: Sink;
  readonly errors: Sink;
}

export interface TreeLimits {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly onOutput?: ((stream: "stdout" | "stderr", chunk: Buffer) => void) | undefined;
  /**
   * If omitted, there is no input, and both streams go to `onOutput`. Called at the last moment; its descriptors are
   * closed here.
   */
  readonly openStreams?: (() => TreeStreams) | undefined;
  /** Told of the tree before it runs. */
  readonly onTree?: ((tree: ProcessTree) => void) | undefined;
  /** Bounds what the tree uses, where the kernel does not. */
  readonly watch?: ((tree: ProcessTree) => UsageWatch) | undefined;
}

export interface TreeOutcome {
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly durationMs: number;
  readonly report: string;
  readonly wasUnready: boolean;
  readonly limit: ReachedLimit | undefined;
}

const GRACE_MS = 300;
/** Everything that could write has ended: what is left is in the pipe's buffer. */
export const DRAIN_MS = 1000;

const drained = async (outputs: readonly Output[]): Promise<void> => {
  const ended = Promise.all(outputs.map((output) => output.ended));
  await Promise.race([ended, sleep(DRAIN_MS, undefined, { ref: false })]);
};

/** How the command ended: a launcher that was ended with its namespace tells nothing about the program itself. */
export const exitOf = (tree: ProcessTree): { exitCode: number | undefined; signal: string | undefined } => {
  if (tree.wasKilled && tree.hasNamespace) return { exitCode: undefined, signal: "SIGKILL" };
  return { exitCode: tree.child.exitCode ?? undefined, signal: tree.child.signalCode ?? undefined };
};

const NO_INPUT: TreeStreams = { input: "ignore", output: "stdout", errors: "stderr" };

interface Collected {
  readonly stdio: TreeStdio;
  readonly stdout: Output | undefined;
  readonly stderr: Output | undefined;
}

/** Opens a pipe for each stream that is watched. */
const openOutputs = ({ openStreams, maxOutputBytes, onOutput }: TreeLimits): Collected => {
  const { input, output, errors } = openStreams?.() ?? NO_INPUT;
  const watched = (stream: "stdout" | "stderr") => {
    if (output !== stream && errors !== stream) return undefined;
    const { reader, writeEnd } = openPipe();
    return { writeEnd, output: collect(reader, maxOutputBytes, (chunk) => onOutput?.(stream, chunk)) };
  };
  const [out, err] = [watched("stdout"), watched("stderr")];
  const descriptorOf = (sink: Sink): number => {
    const descriptor = typeof sink === "number" ? sink : (sink === "stdout" ? out : err)?.writeEnd;
    if (descriptor === undefined) throw new Error("a stream without a pipe");
    return descriptor;
  };
  return {
    stdio: [input, descriptorOf(output), descriptorOf(errors)],
    stdout: out?.output,
    stderr: err?.output,
  };
};

/** Runs one launch to the end of its whole tree: by itself, at the deadline, or when the caller gives up. */
export const runTree = async (launch: Launch, limits: TreeLimits): Promise<TreeOutcome> => {
  const startedAt = performance.now();
  const { stdio, stdout, stderr } = openOutputs(limits);
  const outputs = [stdout, stderr].filter((output) => output !== undefined);
  const tree = new ProcessTree(launch, stdio);
  limits.onTree?.(tree);
  const watch = limits.watch?.(tree);
  let timedOut = false;
  const abort = (): void => void tree.end(GRACE_MS);
  const deadline = setTimeout(() => {
    timedOut = true;
    abort();
  }, limits.timeoutMs);
  try {
    await tree.started();
    limits.signal?.addEventListener("abort", abort, { once: true });
    if (limits.signal?.aborted === true) abort();
    await tree.exited;
    const endedAt = performance.now();
    clearTimeout(deadline);
    // The launcher's report may still be in the pipe, and it names what has to be ended.
    if (tree.hasNamespace) await tree.reported(DRAIN_MS);
    if (timedOut || limits.signal?.aborted === true) await tree.end(GRACE_MS);
    await tree.sweep();
    await Promise.all([drained(outputs), tree.reported(DRAIN_MS)]);
    return {
      ...exitOf(tree),
      timedOut,
      stdout: stdout?.bytes() ?? Buffer.alloc(0),
      stderr: stderr?.bytes() ?? Buffer.alloc(0),
      stdoutBytes: stdout?.total() ?? 0,
      stderrBytes: stderr?.total() ?? 0,
      durationMs: endedAt - startedAt,
      report: tree.report,
      wasUnready: tree.wasUnready,
      limit: watch?.hit(),
    };
  } finally {
    clearTimeout(deadline);
    watch?.stop();
    limits.signal?.removeEventListener("abort", abort);
    for (const output of outputs) output.stop();
    tree.close();
  }
};
