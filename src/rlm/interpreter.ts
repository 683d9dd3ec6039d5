import { LlmcError, toLlmcError } from "../base/error.ts";
import type { CallTool, Guest, ProgramResult } from "../sandbox/contract.ts";
import type { Context } from "./context.ts";
import type { AnalysisLimits, AnalysisParts } from "./contract.ts";
import { JAVASCRIPT_ADD, JAVASCRIPT_JOIN, JAVASCRIPT_PRELUDE } from "./guest/javascript.ts";
import { PYTHON_ADD, PYTHON_JOIN, PYTHON_PRELUDE } from "./guest/python.ts";
import type { GuestLanguage } from "./guest-languages.ts";

const MAX_OUTPUT_BYTES = 256 * 1024;
const MAX_RESULT_BYTES = 1024 * 1024;
const MAX_TOOL_CALLS = 10_000;
/** The budget bounds what is under way; this only keeps a flood of calls from being held at once. */
const MAX_PARALLEL_CALLS = 1000;

const PROGRAMS: Readonly<
  Record<GuestLanguage, { readonly prelude: string; readonly add: string; readonly join: string }>
> = {
  javascript: { prelude: JAVASCRIPT_PRELUDE, add: JAVASCRIPT_ADD, join: JAVASCRIPT_JOIN },
  python: { prelude: PYTHON_PRELUDE, add: PYTHON_ADD, join: PYTHON_JOIN },
};

/** Arguments of one call, such as a prompt. */
const MAX_CALL_BYTES = 4 * 1024 * 1024;

/**
 * What a context takes in an interpreter: its pieces and the whole at the same time, a byte or two for each character, and
 * what joining them needs.
 */
const bytesFor = ({ text, bytes }: Context): number => (bytes === text.length ? 4 : 8) * text.length;

const notStarted = ({ message }: { readonly message: string }): LlmcError =>
  new LlmcError("internal_error", "The context could not be loaded into the interpreter.", {
    cause: message,
  });

/** That programs cannot run here is no fault of the caller or of a provider. */
export const notRunnable = (thrown: unknown): never => {
  const { message, hint } = toLlmcError(thrown);
  throw new LlmcError("internal_error", message, {
    ...(hint === undefined ? {} : { hint }),
    retryable: false,
  });
};

interface InterpreterParts extends Pick<AnalysisParts, "openGuest"> {
  readonly language: GuestLanguage;
  readonly context: Context;
  readonly limits: AnalysisLimits;
  readonly callTool: CallTool;
  readonly signal: AbortSignal;
}

/** The interpreter of one analysis, with its context as a variable. One that was ended is replaced by a new one. */
export class Interpreter {
  readonly #parts: InterpreterParts;
  #guest: Promise<Guest> | undefined;

  constructor(parts: InterpreterParts) {
    this.#parts = parts;
  }

  /** Runs one program; what an earlier one left is there, unless its interpreter was ended. */
  async run(code: string): Promise<ProgramResult> {
    return this.#execute(await this.#living(), code);
  }

  /** Ends the process, now or as soon as it has started. */
  async close(): Promise<void> {
    const guest = this.#guest;
    this.#guest = undefined;
    await guest?.then(
      (started) => started.kill(),
      () => {},
    );
  }

  /** Starts it before the first program is known, while the model writes that program. */
  async prepare(): Promise<void> {
    await this.#living();
  }

  /** The interpreter, which is started if it is not running. */
  async #living(): Promise<Guest> {
    const guest = await this.#guest;
    if (guest?.isAlive() === true) return guest;
    this.#guest = this.#start();
    this.#guest.catch(() => {
      this.#guest = undefined;
    });
    return this.#guest;
  }

  async #start(): Promise<Guest> {
    const { openGuest, language, context, limits, signal } = this.#parts;
    signal.throwIfAborted();
    const guest = await openGuest(language, limits.memoryBytes + bytesFor(context)).catch(notRunnable);
    try {
      await this.#load(guest);
      return guest;
    } catch (thrown) {
      await guest.kill();
      throw thrown;
    }
  }

  async #load(guest: Guest): Promise<void> {
    const { language, context } = this.#parts;
    const { prelude, add, join } = PROGRAMS[language];
    const check = ({ error }: ProgramResult): void => {
      if (error !== undefined) throw notStarted(error);
    };
    check(await this.#execute(guest, prelude));
    for (const text of context.pieces()) check(await this.#execute(guest, add, { text }));
    check(await this.#execute(guest, join));
  }

  #execute(guest: Guest, code: string, inputs: object = {}): Promise<ProgramResult> {
    const { language, limits, callTool, signal } = this.#parts;
    return guest.run(
      {
        language,
        code,
        inputs: JSON.stringify(inputs),
        sharesVariables: true,
        limits: {
          timeoutMs: limits.timeoutMs,
          cpuMs: limits.cpuMs,
          maxOutputBytes: MAX_OUTPUT_BYTES,
          maxResultBytes: MAX_RESULT_BYTES,
          maxFileBytes: 0,
          maxToolCalls: MAX_TOOL_CALLS,
          maxParallelCalls: MAX_PARALLEL_CALLS,
          maxCallBytes: MAX_CALL_BYTES,
        },
      },
      callTool,
      signal,
    );
  }
}
