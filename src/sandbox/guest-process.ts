import { LlmcError } from "../base/error.ts";
import type { ConfinedProcess } from "./confined.ts";
import type { CallRecord, CallTool, Ended, Guest, Program, ProgramResult } from "./contract.ts";
import { createFrameReader, encodeFrame } from "./guest/frames.ts";
import type { CallFailure, FromGuest, ToGuest } from "./guest/messages.ts";
import { readError, readMessage } from "./guest-frames.ts";
import { createStopwatch, type Stopwatch } from "./stopwatch.ts";

/** Arguments of one tool call, or everything that a program leaves. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const CPU_TICK_MS = 200;
/** Calls of one program that run at once; the others wait in order. */
const MAX_PARALLEL_CALLS = 8;
/** The guest itself drops output beyond its limit: one that sends this many times as much is hostile. */
const OUTPUT_SLACK = 2;

const ENDED: Readonly<Record<Ended, (program: Program) => string>> = {
  timeout: ({ limits }) => `The program ran longer than ${limits.timeoutMs / 1000} s.`,
  cpu: ({ limits }) => `The program used more than ${limits.cpuMs / 1000} s of processor time.`,
  memory: () => "The program used more memory than it may.",
  output: ({ limits }) => `The program wrote more than ${limits.maxOutputBytes} bytes.`,
  tool_calls: ({ limits }) => `The program made more than ${limits.maxToolCalls} tool calls.`,
  crash: () => "The interpreter ended unexpectedly: the program used too much memory or stack, or broke it.",
  protocol: () => "The interpreter sent something that it must not send, and was ended.",
};

const ABANDONED = new LlmcError("cancelled", "The program has ended.");

const BROKEN: CallFailure = {
  code: "internal_error",
  message: "An unexpected error occurred.",
  retryable: false,
};

type Rest = Pick<ProgramResult, "result" | "error" | "files" | "outputCut" | "filesCut">;

/** One program while it runs. */
interface Run {
  readonly program: Program;
  readonly callTool: CallTool;
  readonly calls: CallRecord[];
  readonly output: string[];
  outputBytes: number;
  /** Ends calls that are under way when the program has ended. */
  readonly controller: AbortController;
  readonly waiting: (() => void)[];
  callsUnderWay: number;
  callsMade: number;
  readonly clock: Stopwatch;
  cpuTimer: NodeJS.Timeout | undefined;
  readonly finish: (result: ProgramResult) => void;
}

/** The server's side of a guest process, which may be hostile. */
export class GuestProcess implements Guest {
  /** Resolves when the interpreter is loaded. */
  readonly ready: Promise<void>;
  readonly #process: ConfinedProcess;
  readonly #becomeReady: () => void;
  #run: Run | undefined;
  #isAlive = true;
  #endedFor: Ended | undefined;

  constructor(process: ConfinedProcess) {
    this.#process = process;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // If nobody waits for it, its failure must not end the server.
    promise.catch(() => {});
    this.#becomeReady = resolve;
    const read = createFrameReader(MAX_FRAME_BYTES, (text) => {
      if (this.#isAlive) this.#receive(readMessage(text));
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
      this.#isAlive = false;
      reject(new LlmcError("unavailable", "The interpreter did not start.", { cause: process.errors() }));
      this.#fail(this.#endedFor ?? (process.wasOverMemory() ? "memory" : "crash"));
    });
  }

  isAlive(): boolean {
    return this.#isAlive;
  }

  async kill(): Promise<void> {
    this.#isAlive = false;
    await this.#process.kill();
    await this.#process.ended;
  }

  pause(): void {
    this.#run?.clock.pause();
  }

  resume(): void {
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
        callTool,
        calls: [],
        output: [],
        outputBytes: 0,
        controller: new AbortController(),
        waiting: [],
        callsUnderWay: 0,
        callsMade: 0,
        clock: createStopwatch(),
        cpuTimer: undefined,
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
    const { language, code, inputs, limits } = run.program;
    const { maxOutputBytes, maxResultBytes, maxFileBytes, timeoutMs, cpuMs } = limits;
    run.clock.start(timeoutMs, () => this.#end("timeout"));
    const before = this.#process.cpuMs();
    run.cpuTimer = setInterval(() => {
      if (this.#process.cpuMs() - before > cpuMs) this.#end("cpu");
    }, CPU_TICK_MS).unref();
    this.#send({ type: "run", language, code, inputs, maxOutputBytes, maxResultBytes, maxFileBytes });
  }

  #send(message: ToGuest): void {
    if (this.#isAlive && !this.#process.write(encodeFrame(message))) this.#end("protocol");
  }

  #receive(message: FromGuest): void {
    const run = this.#run;
    if (message.type === "ready") this.#becomeReady();
    // What a program sends after it has ended is nobody's.
    else if (run === undefined) return;
    else if (message.type === "output") this.#print(run, message.text);
    else if (message.type === "call") this.#call(run, message);
    else this.#conclude(run, message);
  }

  #print(run: Run, text: string): void {
    run.outputBytes += Buffer.byteLength(text);
    if (run.outputBytes > OUTPUT_SLACK * run.program.limits.maxOutputBytes) this.#end("output");
    else run.output.push(text);
  }

  #call(run: Run, message: Extract<FromGuest, { type: "call" }>): void {
    run.callsMade++;
    if (run.callsMade > run.program.limits.maxToolCalls) {
      this.#end("tool_calls");
      return;
    }
    const start = (): void => {
      run.callsUnderWay++;
      void this.#answer(run, message.call, message.name, message.args);
    };
    if (run.callsUnderWay < MAX_PARALLEL_CALLS) start();
    else run.waiting.push(start);
  }

  async #answer(run: Run, call: number, name: string, args: string): Promise<void> {
    const startedAt = performance.now();
    const answer = await run
      .callTool(name, args, run.controller.signal)
      .catch(() => ({ failure: BROKEN }) as const);
    run.callsUnderWay--;
    if (this.#run !== run) return;
    run.waiting.shift()?.();
    const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
    run.calls.push({ name, durationMs, ok: "value" in answer });
    this.#send({ type: "settle", call, ...answer });
  }

  #conclude(run: Run, done: Extract<FromGuest, { type: "done" }>): void {
    const { result, files } = done;
    const { maxResultBytes, maxFileBytes } = run.program.limits;
    const fileBytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
    if (fileBytes > maxFileBytes || Buffer.byteLength(result ?? "") > maxResultBytes) {
      this.#end("protocol");
      return;
    }
    this.#close(run, {
      result,
      error: readError(done.error),
      files: files.map(({ name, text }) => ({ name, text })),
      outputCut: done.outputCut === true,
      filesCut: done.filesCut === true,
    });
  }

  #close(run: Run, rest: Rest): void {
    const durationMs = this.#stopRun(ABANDONED);
    run.finish({ output: run.output.join(""), calls: run.calls, durationMs, ...rest });
  }

  #fail(reason: Ended): void {
    const run = this.#run;
    if (run === undefined) return;
    const error = { name: "Ended", message: ENDED[reason](run.program), ended: reason };
    const outputCut = run.outputBytes >= run.program.limits.maxOutputBytes;
    this.#close(run, { result: undefined, error, files: [], outputCut, filesCut: false });
  }

  /** Returns the milliseconds that the program took. */
  #stopRun(reason: unknown): number {
    const run = this.#run;
    this.#run = undefined;
    if (run === undefined) return 0;
    clearInterval(run.cpuTimer);
    run.controller.abort(reason);
    return run.clock.stop();
  }

  /** Kills the process; its program fails for this reason. */
  #end(reason: Ended): void {
    this.#endedFor ??= reason;
    this.#isAlive = false;
    void this.#process.kill();
    this.#fail(reason);
  }
}
