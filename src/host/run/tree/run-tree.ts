import { setTimeout as sleep } from "node:timers/promises";
import { openPipe } from "./pipe.ts";
import { collect, type Output, type ProcessTree, type TreeStdio } from "./process-tree.ts";

/** Where a stream goes: to a descriptor, or to whoever watches the command's output. */
export type Sink = number | "stdout" | "stderr";

export interface TreeStreams {
  readonly input: number | "ignore";
  readonly output: Sink;
  readonly errors: Sink;
}

export interface WatchedStreams {
  /** Receives every byte as it arrives. It must be fast, and copy what it wants to keep. */
  readonly onOutput?: ((stream: "stdout" | "stderr", chunk: Buffer) => void) | undefined;
  /**
   * If omitted, there is no input, and both streams go to `onOutput`. Called at the last moment; its descriptors are
   * closed by the tree.
   */
  readonly openStreams?: (() => TreeStreams) | undefined;
}

const GRACE_MS = 300;
/** Everything that could write has ended: what is left is in the pipe's buffer. */
export const DRAIN_MS = 1000;
/** Enough of stderr for a launcher's own error message; the rest is only passed on. */
const LAUNCHER_ERROR_BYTES = 4096;

/** How the command ended: a launcher that was ended with its namespace says nothing about the program itself. */
export const exitOf = (tree: ProcessTree): { exitCode: number | undefined; signal: string | undefined } => {
  if (tree.wasKilled && tree.hasNamespace) return { exitCode: undefined, signal: "SIGKILL" };
  return { exitCode: tree.child.exitCode ?? undefined, signal: tree.child.signalCode ?? undefined };
};

const NO_INPUT: TreeStreams = { input: "ignore", output: "stdout", errors: "stderr" };

/** The pipes of a tree's watched streams. */
export interface TreeOutputs {
  readonly stdio: TreeStdio;
  readonly outputs: readonly Output[];
  /** The beginning of stderr. */
  errors(): Buffer;
}

/** Opens a pipe for each stream that is watched. */
export const openOutputs = ({ openStreams, onOutput }: WatchedStreams): TreeOutputs => {
  const { input, output, errors } = openStreams?.() ?? NO_INPUT;
  const watch = (stream: "stdout" | "stderr", keptBytes: number) => {
    if (output !== stream && errors !== stream) return undefined;
    const { reader, writeEnd } = openPipe();
    return { writeEnd, output: collect(reader, keptBytes, (chunk) => onOutput?.(stream, chunk)) };
  };
  const [out, err] = [watch("stdout", 0), watch("stderr", LAUNCHER_ERROR_BYTES)];
  const descriptorOf = (sink: Sink): number => {
    const descriptor = typeof sink === "number" ? sink : (sink === "stdout" ? out : err)?.writeEnd;
    if (descriptor === undefined) throw new Error("a stream without a pipe");
    return descriptor;
  };
  return {
    stdio: [input, descriptorOf(output), descriptorOf(errors)],
    outputs: [out, err].flatMap((one) => (one === undefined ? [] : [one.output])),
    errors: () => err?.output.bytes() ?? Buffer.alloc(0),
  };
};

interface WaitLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Waits for the end of a started tree: by itself, at the deadline, or when the caller gives up. */
export const waitForTree = async (
  tree: ProcessTree,
  outputs: readonly Output[],
  { timeoutMs, signal }: WaitLimits,
): Promise<{ readonly timedOut: boolean }> => {
  let timedOut = false;
  const abort = (): void => void tree.end(GRACE_MS);
  const deadline = setTimeout(() => {
    timedOut = true;
    abort();
  }, timeoutMs);
  try {
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
    await tree.exited;
    clearTimeout(deadline);
    // The launcher's report may still be in the pipe, and it names what has to be ended.
    if (tree.hasNamespace) await tree.reported(DRAIN_MS);
    if (timedOut || signal?.aborted === true) await tree.end(GRACE_MS);
    await tree.sweep();
    const drained = Promise.all(outputs.map(({ ended }) => ended));
    await Promise.all([
      Promise.race([drained, sleep(DRAIN_MS, undefined, { ref: false })]),
      tree.reported(DRAIN_MS),
    ]);
    return { timedOut };
  } finally {
    clearTimeout(deadline);
    signal?.removeEventListener("abort", abort);
    for (const output of outputs) output.stop();
  }
};
