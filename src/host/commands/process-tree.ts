import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { openPipe, type Pipe } from "./pipe.ts";
import { findTree, identify, isAlive, type ProcessKey, sendSignal, type TreeMark } from "./process-scan.ts";

/** One program to start, with nothing between it and us but the tier's own launcher. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Descriptor 3: opened by the tier, closed here. */
  readonly input?: number;
  /** Whether descriptor 4 is a pipe on which the launcher tells how it went. */
  readonly reports: boolean;
  readonly mark: TreeMark | undefined;
  /** From what the launcher told: the first process of the command's own PID namespace, whose end ends all. */
  readonly namespaceInit?: (report: string) => number | undefined;
}

export interface TreeLimits {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal | undefined;
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
}

const GRACE_MS = 300;
/** Everything that could write has ended: what is left is in the pipe's buffer. */
const DRAIN_MS = 1000;
const MAX_REPORT = 16_384;

interface Output {
  readonly ended: Promise<void>;
  bytes(): Buffer;
  total(): number;
  stop(): void;
}

/** Keeps the first bytes, reads and counts the rest: a writer is never blocked, memory never grows. */
const collect = (stream: Readable, maxBytes: number): Output => {
  const kept: Buffer[] = [];
  let total = 0;
  let keptBytes = 0;
  stream.on("data", (chunk: Buffer) => {
    total += chunk.length;
    if (keptBytes >= maxBytes) return;
    // A copy, so that a few kept bytes do not hold the whole read buffer.
    const part = Buffer.from(chunk.subarray(0, maxBytes - keptBytes));
    kept.push(part);
    keptBytes += part.length;
  });
  const ended = new Promise<void>((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
  });
  return { ended, bytes: () => Buffer.concat(kept), total: () => total, stop: () => void stream.destroy() };
};

/** Only a process that the kernel itself holds up, as on a dead network disk, is waited for in vain. */
const MAX_END_MS = 5000;

const until = async (claim: () => boolean): Promise<void> => {
  const giveUpAt = performance.now() + MAX_END_MS;
  for (let waitMs = 1; !claim() && performance.now() < giveUpAt; waitMs = Math.min(waitMs * 2, 50))
    await sleep(waitMs);
};

const open = (launch: Launch, pipes: readonly Pipe[]): ChildProcess => {
  const [out, err, report] = pipes.map(({ writeEnd }) => writeEnd);
  try {
    return spawn(launch.file, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      // A session of its own: no terminal, and a group that can be signalled as one.
      detached: true,
      stdio: ["ignore", out ?? "ignore", err ?? "ignore", launch.input ?? "ignore", report ?? "ignore"],
    });
  } finally {
    for (const { writeEnd } of pipes) closeSync(writeEnd);
    if (launch.input !== undefined) closeSync(launch.input);
  }
};

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** A started launch and the processes that came of it. */
class Tree {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  readonly outputs: readonly Output[];
  /** Whether the program had to be killed: it did not end in the time of grace. */
  wasKilled = false;
  readonly #launch: Launch;
  #init: ProcessKey | "gone" | undefined;
  #ending: Promise<void> | undefined;

  constructor(launch: Launch, maxOutputBytes: number) {
    this.#launch = launch;
    const pipes = [openPipe(), openPipe(), ...(launch.reports ? [openPipe()] : [])];
    this.outputs = pipes.map(({ reader }, index) =>
      collect(reader, index === 2 ? MAX_REPORT : maxOutputBytes),
    );
    this.child = open(launch, pipes);
    this.exited = new Promise((resolve) => {
      this.child.once("exit", () => resolve());
    });
    pipes[2]?.reader.on("data", () => this.#readReport());
  }

  get report(): string {
    return this.outputs[2]?.bytes().toString() ?? "";
  }

  #readReport(): void {
    const pid = this.#init === undefined ? this.#launch.namespaceInit?.(this.report) : undefined;
    if (pid !== undefined) this.#init = identify(pid) ?? "gone";
  }

  started(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.child.once("spawn", resolve);
      this.child.once("error", reject);
    });
  }

  #find(): readonly ProcessKey[] {
    return findTree(this.child.pid ?? 0, hasExited(this.child), this.#launch.mark);
  }

  /** Asks, then kills; the same promise however often it is called. */
  end(): Promise<void> {
    this.#ending ??= this.#askThenKill();
    return this.#ending;
  }

  async #askThenKill(): Promise<void> {
    const init = this.#init === "gone" ? undefined : this.#init;
    for (const key of this.#find()) {
      // Their end would be the end of all, at once.
      const isLauncher =
        this.#launch.namespaceInit !== undefined && (key.pid === this.child.pid || key.pid === init?.pid);
      if (!isLauncher) sendSignal(key, "SIGTERM");
    }
    await Promise.race([this.exited, sleep(GRACE_MS)]);
    this.wasKilled = !hasExited(this.child);
    await this.sweep();
  }

  /** Kills what is left and returns when all of it is gone. */
  async sweep(): Promise<void> {
    if (this.#init !== undefined) {
      const init = this.#init;
      if (init === "gone") return;
      // The kernel ends all of a PID namespace before its first process is gone.
      sendSignal(init, "SIGKILL");
      await until(() => !isAlive(init));
      if (!isAlive(init)) return;
    }
    // A process that forks while the list is read can be missed once, hence two empty lists in a row.
    const giveUpAt = performance.now() + MAX_END_MS;
    for (let empty = 0; empty < 2 && performance.now() < giveUpAt; ) {
      const found = this.#find();
      empty = found.length === 0 ? empty + 1 : 0;
      for (const key of found) sendSignal(key, "SIGKILL");
      if (found.length > 0) await until(() => !found.some(isAlive));
    }
  }

  async drained(maxMs: number, outputs = this.outputs): Promise<void> {
    const ended = Promise.all(outputs.map(({ ended }) => ended));
    await Promise.race([ended, sleep(maxMs, undefined, { ref: false })]);
  }
}

/** Runs one launch to the end of its whole tree: by itself, at the deadline, or when the caller gives up. */
export const runTree = async (launch: Launch, limits: TreeLimits): Promise<TreeOutcome> => {
  const startedAt = performance.now();
  const tree = new Tree(launch, limits.maxOutputBytes);
  let timedOut = false;
  const abort = (): void => void tree.end();
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
    // The launcher's words may still be in the pipe, and they name what is to be ended.
    if (launch.namespaceInit !== undefined) await tree.drained(DRAIN_MS, tree.outputs.slice(2));
    if (timedOut || limits.signal?.aborted === true) await tree.end();
    await tree.sweep();
    await tree.drained(DRAIN_MS);
    const [stdout, stderr] = tree.outputs;
    const { exitCode, signalCode } = tree.child;
    const killedBehindLauncher = tree.wasKilled && launch.namespaceInit !== undefined;
    return {
      exitCode: killedBehindLauncher ? undefined : (exitCode ?? undefined),
      signal: killedBehindLauncher ? "SIGKILL" : (signalCode ?? undefined),
      timedOut,
      stdout: stdout?.bytes() ?? Buffer.alloc(0),
      stderr: stderr?.bytes() ?? Buffer.alloc(0),
      stdoutBytes: stdout?.total() ?? 0,
      stderrBytes: stderr?.total() ?? 0,
      durationMs: endedAt - startedAt,
      report: tree.report,
    };
  } finally {
    clearTimeout(deadline);
    limits.signal?.removeEventListener("abort", abort);
    for (const output of tree.outputs) output.stop();
  }
};
