import { setTimeout as sleep } from "node:timers/promises";
import type { ReachedLimit } from "../../../base/limit-notes.ts";
import { openPipe } from "./pipe.ts";
import { collect, type Launch, type Output, ProcessTree } from "./process-tree.ts";
import type { UsageWatch } from "./usage-watch.ts";

export interface TreeLimits {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly onOutput?: ((stream: "stdout" | "stderr", chunk: Buffer) => void) | undefined;
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

/** Runs one launch to the end of its whole tree: by itself, at the deadline, or when the caller gives up. */
export const runTree = async (launch: Launch, limits: TreeLimits): Promise<TreeOutcome> => {
  const startedAt = performance.now();
  const pipes = [openPipe(), openPipe()] as const;
  const { maxOutputBytes, onOutput } = limits;
  const stdout = collect(pipes[0].reader, maxOutputBytes, (chunk) => onOutput?.("stdout", chunk));
  const stderr = collect(pipes[1].reader, maxOutputBytes, (chunk) => onOutput?.("stderr", chunk));
  const tree = new ProcessTree(launch, ["ignore", pipes[0].writeEnd, pipes[1].writeEnd]);
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
    await Promise.all([drained([stdout, stderr]), tree.reported(DRAIN_MS)]);
    return {
      ...exitOf(tree),
      timedOut,
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      stdoutBytes: stdout.total(),
      stderrBytes: stderr.total(),
      durationMs: endedAt - startedAt,
      report: tree.report,
      wasUnready: tree.wasUnready,
      limit: watch?.hit(),
    };
  } finally {
    clearTimeout(deadline);
    watch?.stop();
    limits.signal?.removeEventListener("abort", abort);
    for (const output of [stdout, stderr]) output.stop();
    tree.close();
  }
};
