import { isUtf8 } from "node:buffer";
import { LlmcError } from "../base/error.ts";
import { boundNames } from "./bound-names.ts";
import type { CallTool, Ended, Guest, Program, ProgramFile, ProgramResult } from "./contract.ts";
import { createFrameReader, encodeFrame } from "./guest/frames.ts";
import type { FromGuest, GuestFile, ToGuest } from "./guest/messages.ts";
import type { GuestChannel } from "./guest-channel.ts";
import { MAX_FRAME_BYTES, readMessage, readReady } from "./guest-frames.ts";
import { ProgramCalls } from "./program-calls.ts";
import { createStopwatch, type Stopwatch } from "./stopwatch.ts";

const CPU_TICK_MS = 200;
/** Between two programs there is nothing to do but to collect garbage. */
const IDLE_CPU_MS = 1000;
const IDLE_TICK_MS = 1000;
/** The guest itself drops output beyond its limit: one that sends this many times as much is hostile. */
const OUTPUT_SLACK = 2;

const ENDED: Readonly<Record<Ended, (program: Program) => string>> = {
  timeout: ({ limits }) => `The program ran longer than ${limits.timeoutMs / 1000} s.`,
  cpu: ({ limits }) => `The program used more than ${limits.cpuMs / 1000} s of processor time.`,
  memory: () => "The program used more memory than it may.",
  output: ({ limits }) => `The program wrote more than ${limits.maxOutputBytes} bytes.`,
  tool_calls: ({ limits }) => `The program made more than ${limits.maxToolCalls} tool calls.`,
  crash: () => "The interpreter ended unexpectedly: the program used too much memory or stack, or broke it.",
  protocol: () => "The interpreter sent an invalid message and was ended.",
};

type Rest = Pick<ProgramResult, "result" | "error" | "files" | "outputCut" | "filesCut">;

const toProgramFile = ({ name, base64 }: GuestFile): ProgramFile => {
  const bytes = Buffer.from(base64, "base64");
  const encoding = isUtf8(bytes) ? "utf8" : "base64";
  return { name, content: bytes.toString(encoding), encoding, bytes: bytes.length };
};

/** One program while it runs. */
interface Run {
  readonly program: Program;
  readonly calls: ProgramCalls;
  readonly output: string[];
  outputBytes: number;
  readonly clock: Stopwatch;
  readonly finish: (result: ProgramResult) => void;
}

/** The server's side of a guest process, which may be hostile. */
export class GuestProcess implements Guest {
  /** Resolves when the interpreter is loaded. */
  readonly ready: Promise<void>;
  readonly #process: GuestChannel;
  readonly #becomeReady: () => void;
  #run: Run | undefined;
  #isReady = false;
  #isAlive = true;
  #cpuTimer: NodeJS.Timeout | undefined;
  /** Reading resumes when both are false. */
  #isPaused = false;
  #isFull = false;
  #endedFor: Ended | undefined;

  constructor(process: GuestChannel) {
    this.#process = process;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // If nobody waits for it, its failure must not end the server.
    promise.catch(() => {});
    this.#becomeReady = resolve;
    const read = createFrameReader(MAX_FRAME_BYTES, (text) => {
      if (this.#isAlive) this.#receive(text);
    });
    process.onData((chunk) => {
      if (!this.#isAlive) return;
      try {
        read(chunk);
      } catch {
        this.#end("protocol");
      }
    });
    void process.ended.then(() => {
      this.#markDead();
      reject(new LlmcError("unavailable", "The interpreter did not start.", { cause: process.errors() }));
      this.#fail(this.#endedFor ?? (process.wasOverMemory() ? "memory" : "crash"));
    });
  }

  isAlive(): boolean {
    return this.#isAlive;
  }

  async kill(): Promise<void> {
    this.#markDead();
    await this.#process.kill();
    await this.#process.ended;
  }

  pause(): void {
    this.#run?.clock.pause();
    this.#isPaused = true;
    this.#readOrNot();
  }

  resume(): void {
    this.#isPaused = false;
    this.#readOrNot();
    this.#run?.clock.resume();
  }

  run(program: Program, callTool: CallTool, signal: AbortSignal): Promise<ProgramResult> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const abort = (): void => {
        this.#stopRun(signal.reason);
        // Nobody may believe that the work has stopped while the process lives.
        void this.kill().finally(() => reject(signal.reason));
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#run = {
        program,
        calls: new ProgramCalls({
          callTool,
          maxParallel: program.limits.maxParallelCalls,
          settle: (call, answer) => this.#send({ type: "settle", call, ...answer }),
          onFull: (isFull) => {
            this.#isFull = isFull;
            this.#readOrNot();
          },
        }),
        output: [],
        outputBytes: 0,
        clock: createStopwatch(),
        finish: (result) => {
          signal.removeEventListener("abort", abort);
          resolve(result);
        },
      };
      this.#begin(this.#run);
    });
  }

  #begin(run: Run): void {
    if (!this.#isAlive) {
      this.#fail(this.#endedFor ?? "crash");
      return;
    }
    const { language, code, inputs, limits, sharesVariables = false } = run.program;
    const { maxOutputBytes, maxResultBytes, maxFileBytes, maxCallBytes, timeoutMs, cpuMs } = limits;
    run.clock.start(timeoutMs, () => this.#end("timeout"));
    this.#boundCpu(cpuMs, CPU_TICK_MS);
    const bounds = { maxOutputBytes, maxResultBytes, maxFileBytes, maxCallBytes };
    this.#send({ type: "run", language, code, inputs, sharesVariables, ...bounds });
  }

  /** From now on; it is ended if it uses more. */
  #boundCpu(maxMs: number, tickMs: number): void {
    clearInterval(this.#cpuTimer);
    const before = this.#process.cpuMs();
    this.#cpuTimer = setInterval(() => {
      if (this.#process.cpuMs() - before > maxMs) this.#end("cpu");
    }, tickMs).unref();
  }

  #markDead(): void {
    this.#isAlive = false;
    clearInterval(this.#cpuTimer);
  }

  /** What is not read waits in the process, which stands still when its pipe is full. */
  #readOrNot(): void {
    this.#process.setReading(!this.#isPaused && !this.#isFull);
  }

  #send(message: ToGuest): void {
    if (this.#isAlive && !this.#process.write(encodeFrame(message))) this.#end("protocol");
  }

  /** Throws for what an honest guest does not send: it is ended then. */
  #receive(text: string): void {
    const run = this.#run;
    if (!this.#isReady) {
      readReady(text);
      this.#isReady = true;
      this.#becomeReady();
      return;
    }
    if (run === undefined) throw new TypeError("a message between two programs");
    const message = readMessage(text, run.program.limits);
    if (message.type === "output") this.#print(run, message.text);
    else if (message.type === "call") this.#call(run, message);
    else if (message.type === "done") this.#conclude(run, message);
  }

  #print(run: Run, text: string): void {
    run.outputBytes += Buffer.byteLength(text);
    if (run.outputBytes > OUTPUT_SLACK * run.program.limits.maxOutputBytes) this.#end("output");
    else run.output.push(text);
  }

  #call({ calls, program }: Run, message: Extract<FromGuest, { type: "call" }>): void {
    if (calls.made < program.limits.maxToolCalls) calls.add(message);
    else this.#end("tool_calls");
  }

  #conclude(
    run: Run,
    { type: _type, result, error, files, ...rest }: Extract<FromGuest, { type: "done" }>,
  ): void {
    this.#close(run, { result, error, files: files.map(toProgramFile), ...rest });
    // What it does until its next program is not in anybody's name.
    this.#boundCpu(IDLE_CPU_MS, IDLE_TICK_MS);
  }

  #close(run: Run, rest: Rest): void {
    const durationMs = this.#stopRun();
    const shown = { output: run.output.join(""), calls: run.calls.records, ...rest };
    run.finish({ ...rest, ...boundNames(shown, run.program.limits.maxOutputBytes), durationMs });
  }

  #fail(reason: Ended): void {
    const run = this.#run;
    if (run === undefined) return;
    const error = { name: "Ended", message: ENDED[reason](run.program), ended: reason };
    const outputCut = run.outputBytes >= run.program.limits.maxOutputBytes;
    this.#close(run, { result: undefined, error, files: [], outputCut, filesCut: false });
  }

  /** Returns the milliseconds that the program took. */
  #stopRun(reason?: unknown): number {
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined) return 0;
    clearInterval(this.#cpuTimer);
    run.calls.stop(reason);
    this.#isFull = false;
    this.#readOrNot();
    return run.clock.stop();
  }

  /** Kills the process; its program fails for this reason. */
  #end(reason: Ended): void {
    this.#endedFor ??= reason;
    this.#markDead();
    void this.#process.kill();
    this.#fail(reason);
  }
}
