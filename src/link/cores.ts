import { createLineSplitter } from "../base/line-splitter.ts";
import { type Child, type ChildExit, restartDelayMs } from "./child.ts";

interface CoreParts {
  readonly start: () => Child;
  /** What a core learns when it starts, in JSON. */
  readonly hello: (generation: number) => string;
  readonly onStarted: () => void;
  readonly onReady: (generation: number) => void;
  readonly onGone: () => void;
  /** Any other report: its first word, and the rest of the line. */
  readonly onReport: (word: string, rest: Buffer) => void;
  /** It ended before it was ready, and wrote the reason to stderr. */
  readonly onFailedStart: (exit: ChildExit) => void;
  readonly onRestart: (exit: ChildExit) => void;
}

const MAX_DELAY_MS = 5000;
/** A core that ended sooner counts as another failure. */
const STABLE_MS = 1000;
const MAX_REPORT_BYTES = 64 * 1024 * 1024;
const MAX_KILLED_STARTS = 3;
/** How long a core may take to finish its work. */
const MAX_STOP_MS = 10_000;
/** The core is notified in batches of the answers that it may forget. */
const ANSWERED_MS = 20;

/** The core's process: started again whenever it ends. */
export class Cores {
  readonly #parts: CoreParts;
  #child: Child | undefined;
  #generation = 1;
  #isReady = false;
  #wasReady = false;
  #isStopping = false;
  #readyAt = 0;
  #failures = 0;
  #answered: number[] = [];

  constructor(parts: CoreParts) {
    this.#parts = parts;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** The running core, or the one that is being started. */
  get generation(): number {
    return this.#generation;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    const child = this.#parts.start();
    this.#child = child;
    child.input.on("error", () => {});
    this.notify(`hello ${this.#parts.hello(this.#generation)}`);
    this.#parts.onStarted();
    const splitter = createLineSplitter(() => MAX_REPORT_BYTES, 0, {
      onLine: (line) => this.#take(line),
      onOversize: () => {},
    });
    child.output.on("data", splitter.push).on("error", () => {});
    void child.exited.then((exit) => this.#ended(child, exit));
  }

  notify(text: string): void {
    this.#child?.input.write(`${text}\n`);
  }

  /** The client has the answer to a line. */
  answered(n: number): void {
    if (this.#answered.length === 0) setTimeout(() => this.#reportAnswered(), ANSWERED_MS).unref();
    this.#answered.push(n);
  }

  #reportAnswered(): void {
    this.notify(`answered ${this.#answered.join(" ")}`);
    this.#answered = [];
  }

  #take(line: Buffer): void {
    const space = line.indexOf(32);
    const word = line.toString("latin1", 0, space === -1 ? line.length : space);
    if (word !== "ready") {
      this.#parts.onReport(word, space === -1 ? Buffer.alloc(0) : line.subarray(space + 1));
      return;
    }
    this.#isReady = true;
    this.#wasReady = true;
    this.#readyAt = performance.now();
    this.#parts.onReady(this.#generation);
  }

  #ended(child: Child, exit: ChildExit): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    if (this.#isStopping) return;
    const wasReady = this.#isReady;
    this.#isReady = false;
    const isStable = wasReady && performance.now() - this.#readyAt > STABLE_MS;
    this.#failures = isStable ? 1 : this.#failures + 1;
    // A core that never became ready cannot have done what was sent to it.
    if (wasReady) this.#generation++;
    if (!this.#wasReady && (exit.signal === null || this.#failures >= MAX_KILLED_STARTS)) {
      this.#parts.onFailedStart(exit);
      return;
    }
    if (wasReady) this.#parts.onGone();
    this.#parts.onRestart(exit);
    setTimeout(
      () => {
        if (!this.#isStopping) this.start();
      },
      restartDelayMs(this.#failures, MAX_DELAY_MS),
    );
  }

  /** Lets it finish its work and starts it again from what is installed now. */
  restart(): void {
    if (this.#isReady && !this.#isStopping) void this.#endChild();
  }

  /** Resolves when it has finished its work. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#endChild();
  }

  async #endChild(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.notify("stop");
    child.input.end();
    const timer = setTimeout(() => child.kill(), MAX_STOP_MS);
    await child.exited;
    clearTimeout(timer);
  }
}
