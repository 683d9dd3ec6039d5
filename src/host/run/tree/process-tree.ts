import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { readProcStat } from "../../os/proc-stat.ts";
import { openInputPipe, openPipe } from "./pipe.ts";
import {
  findTree,
  identify,
  isAlive,
  killUntilGone,
  type ProcessKey,
  sendSignal,
  type TreeMark,
  untilTrue,
} from "./process-scan.ts";

/** One program to start, with nothing between it and us but the tier's own launcher. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Descriptor 3: opened by the tier, closed here. */
  readonly input?: number;
  /** Whether descriptor 4 is a pipe on which the launcher reports how it went. */
  readonly reports: boolean;
  readonly mark: TreeMark | undefined;
  /** From the launcher's report: the first process of the command's own PID namespace, whose end ends all. */
  readonly namespaceInit?: (report: string) => number | undefined;
  readonly mounts?: {
    /** The launcher waits on descriptor 5 until this is true of the first process; if it never is, nothing runs. */
    isReady(pid: number): boolean;
    /** Paths inside the roots that no mount held all the time. */
    unguarded(): readonly string[];
    close(): void;
  };
  /** Whether the program makes its session itself, because it takes a terminal with it. */
  readonly ownSession?: boolean;
}

/** What a child gets as its first three descriptors; numbers are closed here once it has them. */
export type TreeStdio = readonly [input: number | "ignore", output: number, errors: number];

const MAX_REPORT = 16_384;
const MAX_ENTER_MS = 5000;
const MAX_READY_MS = 3000;

export interface Output {
  readonly ended: Promise<void>;
  bytes(): Buffer;
  stop(): void;
}

/** Keeps the first bytes and reads on: a writer is never blocked, memory never grows. */
export const collect = (stream: Readable, maxBytes: number, onChunk?: (chunk: Buffer) => void): Output => {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  stream.on("data", (chunk: Buffer) => {
    onChunk?.(chunk);
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
  return { ended, bytes: () => Buffer.concat(kept), stop: () => void stream.destroy() };
};

const closeAll = (descriptors: readonly (number | string | undefined)[]): void => {
  for (const descriptor of new Set(descriptors)) if (typeof descriptor === "number") closeSync(descriptor);
};

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

/** A started launch and the processes that came of it. */
export class ProcessTree {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  /** Whether the program had to be killed: it did not end in the time of grace. */
  wasKilled = false;
  /** Whether the launcher was ended before the program ran, because what it had set up was not what was wanted. */
  wasUnready = false;
  readonly #launch: Launch;
  readonly #report: Output | undefined;
  /** Of the launcher, in clock ticks since boot. */
  readonly #startedAt: string;
  #init: ProcessKey | "gone" | undefined;
  #ending: Promise<void> | undefined;
  readonly #release: Socket | undefined;

  constructor(launch: Launch, stdio: TreeStdio) {
    this.#launch = launch;
    let reportEnd: number | undefined;
    let holdEnd: number | undefined;
    try {
      const pipe = launch.reports ? openPipe() : undefined;
      reportEnd = pipe?.writeEnd;
      const hold = launch.mounts === undefined ? undefined : openInputPipe();
      holdEnd = hold?.readEnd;
      this.#release = hold?.writer;
      // The launcher may end before it reads.
      hold?.writer.on("error", () => {});
      this.#report = pipe === undefined ? undefined : collect(pipe.reader, MAX_REPORT);
      this.child = spawn(launch.file, launch.args, {
        cwd: launch.cwd,
        env: launch.env,
        // A session of its own: no terminal but its own, and a group that can be signalled as one.
        detached: launch.ownSession !== true,
        stdio: [...stdio, launch.input ?? "ignore", reportEnd ?? "ignore", holdEnd ?? "ignore"],
      });
      this.#startedAt = readProcStat(this.child.pid ?? 0)?.startedAt ?? "0";
      pipe?.reader.on("data", () => this.#readReport());
    } catch (thrown) {
      this.close();
      throw thrown;
    } finally {
      closeAll([...stdio, launch.input, reportEnd, holdEnd]);
    }
    this.exited = new Promise((resolve) => {
      this.child.once("exit", () => resolve());
    });
  }

  /** What the launcher has reported so far. */
  get report(): string {
    return this.#report?.bytes().toString() ?? "";
  }

  /** How its processes are recognised, for the orphan guard that ends them if the server dies. */
  get mark(): TreeMark | undefined {
    return this.#launch.mark;
  }

  get hasNamespace(): boolean {
    return this.#launch.namespaceInit !== undefined;
  }

  get hasExited(): boolean {
    return hasExited(this.child);
  }

  #readReport(): void {
    const pid = this.#init === undefined ? this.#launch.namespaceInit?.(this.report) : undefined;
    if (pid === undefined) return;
    this.#init = identify(pid) ?? "gone";
    void this.#releaseWhenReady(pid);
  }

  /** Mounts are ready within milliseconds; if they never match, the launcher is ended before the program runs. */
  async #releaseWhenReady(pid: number): Promise<void> {
    const giveUpAt = performance.now() + MAX_READY_MS;
    while (!this.hasExited && performance.now() < giveUpAt) {
      if (this.#isReady(pid)) {
        this.#release?.end("x");
        return;
      }
      // Checks without a pause would take the processor that the launcher needs: twice the work of the whole command.
      await sleep(1);
    }
    this.wasUnready = !this.hasExited;
    this.#release?.destroy();
    this.child.kill("SIGKILL");
    await this.sweep();
  }

  #isReady(pid: number): boolean {
    try {
      return this.#launch.mounts?.isReady(pid) !== false;
    } catch {
      return false;
    }
  }

  started(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.child.once("spawn", resolve);
      this.child.once("error", reject);
    });
  }

  /** Resolves when the launcher has closed its report pipe. */
  async reported(maxMs: number): Promise<void> {
    if (this.#report === undefined) return;
    await Promise.race([this.#report.ended, sleep(maxMs, undefined, { ref: false })]);
  }

  /** Resolves when the launcher reports that the program runs or could not be started. */
  async entered(): Promise<void> {
    if (this.hasNamespace) await untilTrue(() => this.#init !== undefined || this.hasExited);
    else await this.reported(MAX_ENTER_MS);
  }

  /** The living processes of the command. */
  find(): readonly ProcessKey[] {
    const { pid } = this.child;
    // A command that never started has no processes; to the kernel, pid 0 means a process group.
    return pid === undefined
      ? []
      : findTree({ pid, startedAt: this.#startedAt }, this.hasExited, this.#launch.mark);
  }

  /** Sent to the command's processes, not to its launcher, whose end would kill all of them at once. */
  send(signal: NodeJS.Signals): void {
    const init = this.#init === "gone" ? undefined : this.#init;
    for (const key of this.find()) {
      const isLauncher = this.hasNamespace && (key.pid === this.child.pid || key.pid === init?.pid);
      if (!isLauncher) sendSignal(key, signal);
    }
  }

  /** Sends SIGTERM, then SIGKILL. Repeated calls return the same promise. */
  end(graceMs: number): Promise<void> {
    this.#ending ??= this.#askThenKill(graceMs);
    return this.#ending;
  }

  /** Waits for a termination that is in progress; resolves at once if there is none. */
  async settled(): Promise<void> {
    await this.#ending;
  }

  async #askThenKill(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      this.send("SIGTERM");
      await Promise.race([this.exited, sleep(graceMs)]);
    }
    this.wasKilled = !this.hasExited;
    await this.sweep();
  }

  /** Kills what is left and returns when all of it is gone. */
  async sweep(): Promise<void> {
    if (this.#init !== undefined) {
      const init = this.#init;
      if (init === "gone") return;
      // The kernel ends all of a PID namespace before its first process is gone.
      sendSignal(init, "SIGKILL");
      await untilTrue(() => !isAlive(init));
      if (!isAlive(init)) return;
    }
    await killUntilGone(() => this.find());
  }

  /** To be called when everything has ended. */
  close(): void {
    this.#release?.destroy();
    this.#report?.stop();
  }
}
