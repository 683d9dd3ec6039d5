import type { Readable, Writable } from "node:stream";
import { describeDropped } from "../base/describe-dropped.ts";
import { createLineSplitter, isBlank } from "../base/line-splitter.ts";
import type { Child, ChildExit } from "./child.ts";
import { createClientLines, END_BYTES } from "./client-lines.ts";
import { Cores } from "./cores.ts";
import type { FrontChild, HowEnded } from "./front-process.ts";
import { createFrontWatch, describeExit, type FrontSize } from "./front-watch.ts";
import { Fronts } from "./fronts.ts";
import type { FrontHello } from "./relay-records.ts";

interface SupervisorParts {
  readonly input: Readable;
  readonly output: Writable;
  readonly startFront: (front: number) => Promise<FrontChild>;
  readonly startCore: () => Child;
  /** What every front learns, but for what the supervisor knows itself. */
  readonly hello: Omit<FrontHello, "front" | "seen">;
  /** What a core learns besides its generation. */
  readonly coreHello: Readonly<Record<string, unknown>>;
  /** From the last start with the same configuration. */
  readonly cached: { readonly snapshot: Buffer; readonly maxFrameBytes: number } | undefined;
  /** The size at which another front takes the place of one. */
  readonly maxSize: () => FrontSize;
  readonly memoryMb: number;
  /** Bytes of lines that a front has room for at once. */
  readonly maxGivenBytes: () => number;
  /** Fronts that are started from now on have another limit of memory. */
  readonly onMemory: (memoryMb: number) => void;
  readonly log: (text: string) => void;
}

/** Until the core says what is configured. */
const DEFAULT_FRAME_BYTES = 8_388_608;
/** The client is not read while more than this of what it sent has no answer. */
const MAX_OPEN_LINES = 2048;
const MAX_OPEN_BYTES = 32 * 1024 * 1024;
/** The fronts are not read while more bytes than this wait for a client that does not read. */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;
/** How long unfinished answers are waited for after the client closed its end, and for it to read them. */
const GRACE_MS = 1000;
/** In any case: a front that never becomes healthy must not keep the program from ending. */
const MAX_GRACE_MS = 60_000;
const GRACE_CHECK_MS = 50;

/** As long as `mcp.security.question_timeout_seconds` may be at most. */
const MAX_QUESTION_MS = 600_000;
/** How long the core waits for the last words of a front. */
const FRONT_FIRST_MS = 250;
/** As many as a core keeps of a connection. */
const MAX_REFUSED = 200;

const NEWLINE = Buffer.from("\n");

const describeThrown = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : "unknown");

/**
 * Holds the client's streams and outlives the two programs that do the work: the front, which parses what the client sends,
 * and the core, which does what it asks for. It relays whole lines and never parses one.
 */
export class Supervisor {
  /** The exit code; rejects with what kept the server from starting. */
  readonly done: Promise<number>;
  readonly #parts: SupervisorParts;
  readonly #lines = createClientLines();
  readonly #cores: Cores;
  readonly #fronts: Fronts;
  readonly #watch: ReturnType<typeof createFrontWatch>;
  readonly #finish: (code: number) => void;
  readonly #refuse: (reason: unknown) => void;
  #snapshot: Buffer | undefined;
  #maxFrameBytes: number;
  #memoryMb: number;
  #seen = "";
  /** What the user answered with "never", in the words of the core, which hands it to the next one. */
  readonly #refused = new Set<string>();
  #hasEnded = false;
  #isStopping = false;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.done = promise;
    this.#finish = resolve;
    this.#refuse = reject;
    this.#snapshot = parts.cached?.snapshot;
    this.#memoryMb = parts.memoryMb;
    this.#maxFrameBytes = parts.cached?.maxFrameBytes ?? DEFAULT_FRAME_BYTES;
    this.#cores = new Cores({
      start: parts.startCore,
      onStarted: () => {
        for (const child of this.#fronts.children) this.#nameFront(child);
      },
      hello: (generation) =>
        JSON.stringify({
          ...parts.coreHello,
          session: parts.hello.session,
          refused: [...this.#refused],
          generation,
        }),
      onReady: (generation) => this.#fronts.notify("U", [generation]),
      onGone: () => this.#fronts.notify("N"),
      onReport: (word, rest) => this.#takeReport(word, rest),
      onFailedStart: ({ code }) => void this.#end(code ?? 1),
      onRestart: (exit) => parts.log(`the core ended (${describeExit(exit)}) and is started again`),
    });
    this.#watch = createFrontWatch({
      fronts: () => this.#fronts,
      maxSize: parts.maxSize,
      log: parts.log,
      onNeverWell: (error) => this.#fail(error),
    });
    this.#fronts = new Fronts({
      lines: this.#lines,
      start: parts.startFront,
      hello: (front) => JSON.stringify({ ...parts.hello, front, seen: this.#seen } satisfies FrontHello),
      snapshot: () => this.#snapshot,
      core: () => this.#cores,
      maxQuestionMs: MAX_QUESTION_MS,
      maxGivenBytes: parts.maxGivenBytes,
      onMessage: (lines) => this.#write(lines),
      onSettled: ({ n }) => {
        this.#cores.answered(n);
        this.#checkRoom();
        if (this.#hasEnded && this.#lines.open().every(({ isLasting }) => isLasting)) void this.#end(0);
      },
      onSeen: (text) => {
        this.#seen = text;
      },
      onFailedStart: (thrown) => parts.log(`a front could not be started (${describeThrown(thrown)})`),
      onStarted: (child) => this.#nameFront(child),
      onWell: this.#watch.well,
      onMisfit: () => this.#cores.restart(),
      onEnded: (exit, how) => this.#frontEnded(exit, how),
    });
  }

  start(): void {
    void this.#fronts.start();
    this.#cores.start();
    this.#readClient();
    void this.done.catch(() => {}).then(this.#watch.stop);
  }

  #nameFront({ pid = 0, socketPath }: FrontChild): void {
    this.#cores.notify(`front ${pid} ${socketPath}`);
  }

  #frontEnded(exit: ChildExit, how: HowEnded): void {
    const open = this.#lines.open().map(({ n }) => n);
    // One that ended by itself may have been taken over before: then it was not the user who answered its questions.
    const ending = { path: how.child.socketPath, open, wasPlanned: how.isRetired };
    this.#cores.notify(`front-ended ${JSON.stringify(ending)}`);
    this.#watch.ended(exit, how);
  }

  /** Has another front take over, without a gap. */
  replaceFront(): void {
    void this.#fronts.replace();
  }

  /** Has the core read its configuration again. */
  reload(): void {
    this.#cores.notify("reload");
  }

  stop(): void {
    void this.#end(0);
  }

  #readClient(): void {
    const { input, output } = this.#parts;
    const splitter = createLineSplitter(() => this.#maxFrameBytes, END_BYTES, {
      onLine: (line) => {
        // A copy: it would hold on to the whole chunk that it came in.
        if (!isBlank(line)) this.#fronts.add(this.#lines.add(Buffer.from(line)));
      },
      onOversize: (size, head, tail) =>
        this.#fronts.add(this.#lines.add(Buffer.alloc(0), { size, limit: this.#maxFrameBytes, head, tail })),
    });
    input.on("data", (chunk: Buffer) => {
      splitter.push(chunk);
      this.#checkRoom();
    });
    input.once("end", () => {
      splitter.end();
      this.#hasEnded = true;
      if (this.#lines.open().every(({ isLasting }) => isLasting)) void this.#end(0);
      else this.#endSoon();
    });
    input.on("error", () => void this.#end(0));
    output.on("error", () => void this.#end(0));
    output.on("drain", () => this.#fronts.read(true));
  }

  /** What was sent is answered for a while after the end of the input, not counting the time until everything is up. */
  #endSoon(): void {
    let leftMs = GRACE_MS;
    const latest = performance.now() + MAX_GRACE_MS;
    const check = setInterval(() => {
      if (this.#cores.isReady && this.#fronts.isHealthy) leftMs -= GRACE_CHECK_MS;
      if (leftMs > 0 && performance.now() < latest && !this.#isStopping) return;
      clearInterval(check);
      const dropped = this.#lines.open().filter(({ isLasting }) => !isLasting).length;
      if (dropped > 0) this.#parts.log(describeDropped(dropped));
      void this.#end(0);
    }, GRACE_CHECK_MS);
  }

  #checkRoom(): void {
    const isFull = this.#lines.count() > MAX_OPEN_LINES || this.#lines.bytes() > MAX_OPEN_BYTES;
    if (isFull) this.#parts.input.pause();
    else if (this.#parts.input.isPaused() && !this.#isStopping) this.#parts.input.resume();
  }

  #write(lines: readonly Buffer[]): void {
    const { output } = this.#parts;
    if (lines.length === 0 || output.destroyed) return;
    output.cork();
    for (const line of lines) {
      output.write(line);
      output.write(NEWLINE);
    }
    output.uncork();
    if (output.writableLength > MAX_UNSENT_BYTES) this.#fronts.read(false);
  }

  #takeReport(word: string, rest: Buffer): void {
    if (word === "snapshot") this.#snapshot = Buffer.from(rest);
    else if (word === "frame") this.#maxFrameBytes = Number(rest.toString("latin1"));
    else if (word === "refused") this.#keepRefused(rest.toString("utf8"));
    else if (word === "memory") this.#setMemory(Number(rest.toString("latin1")));
  }

  #keepRefused(text: string): void {
    const [oldest] = this.#refused;
    if (this.#refused.size >= MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
    this.#refused.add(text);
  }

  #setMemory(memoryMb: number): void {
    if (memoryMb === this.#memoryMb) return;
    this.#memoryMb = memoryMb;
    this.#parts.onMemory(memoryMb);
    this.replaceFront();
  }

  /** Waits until a slow client has read what was written, for a limited time. */
  #flushed(): Promise<void> {
    const { output } = this.#parts;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, GRACE_MS);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      if (output.writableLength === 0 || output.destroyed) done();
      else output.write("", done);
    });
  }

  #fail(thrown: unknown): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    void this.#stopBoth().then(() => this.#refuse(thrown));
  }

  async #end(code: number): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#parts.input.pause();
    await this.#stopBoth();
    await this.#flushed();
    this.#finish(code);
  }

  /** The front a moment earlier: it tells the core what it refused. */
  async #stopBoth(): Promise<void> {
    const fronts = this.#fronts.stop();
    await Promise.race([fronts, new Promise((resolve) => setTimeout(resolve, FRONT_FIRST_MS))]);
    await Promise.all([fronts, this.#cores.stop()]);
  }
}
