import { type LlmcError, toLlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { parseGuarded } from "../base/json-guard.ts";
import type { CallAnswer, Program, ProgramResult } from "./contract.ts";
import type { CallFailure } from "./guest/messages.ts";
import type { Lease } from "./pool.ts";

/** A tool call of a program as the pipe makes it; what was asked before, and how it was answered, comes with it. */
export type NestedCall<Q> = (
  name: string,
  args: unknown,
  signal: AbortSignal,
  answered: { readonly answers: unknown; readonly state: unknown } | undefined,
) => Promise<NestedAnswer<Q>>;

export type NestedAnswer<Q> =
  | { readonly kind: "ok"; readonly value: unknown }
  /** `error` is the failure itself, for callers of this process; programs get `failure`. */
  | { readonly kind: "error"; readonly failure: CallFailure; readonly error: LlmcError }
  /** The user has to be asked before the call can go on. */
  | { readonly kind: "questions"; readonly questions: Q; readonly state: unknown };

/** One round of a program: until it ends, or until its user has to be asked something. */
export interface Round<Q> {
  readonly call: NestedCall<Q>;
  /** To the question that ended the last round. */
  readonly answers: unknown;
  readonly signal: AbortSignal;
}

export type Step<Q> =
  | { readonly kind: "ended"; readonly result: ProgramResult }
  | { readonly kind: "asked"; readonly questions: Q };

interface Pending {
  readonly questions: unknown;
  readonly answer: (answers: unknown) => void;
}

/** A result that is larger does not fit into the memory of a program anyway. */
const MAX_VALUE_BYTES = 16 * 1024 * 1024;

const TOO_LARGE: CallFailure = {
  code: "file_too_large",
  message: `The tool's result is larger than ${MAX_VALUE_BYTES} bytes: ask for less.`,
  retryable: false,
};

/** Every tool says in the same word that there is more than its result holds. */
const isPartial = (value: unknown): boolean =>
  isRecord(value) &&
  (value["truncated"] === true || (isRecord(value["meta"]) && value["meta"]["truncated"] === true));

const invalid = (thrown: unknown): CallFailure => {
  const { code, message } = toLlmcError(thrown);
  return { code, message, retryable: false };
};

/** A started program, which outlives the call that started it while its user is asked something. */
export class RunningProgram {
  readonly id: string;
  /** What it was started with, as a text: an answer to its questions comes with the same. */
  readonly request: string;
  /** Whether the variables of an earlier program are there. */
  readonly wasKept: boolean;
  /** The time that it has: less than it asked for where that is more than anybody gets. */
  readonly timeoutSeconds: number;
  readonly #lease: Lease;
  readonly #controller = new AbortController();
  readonly #done: Promise<ProgramResult>;
  /** Questions that are open, the next one first. */
  readonly #pending: Pending[] = [];
  /** Calls that have asked and not ended: until then no other begins, so that nothing changes what the user agreed to. */
  #asking = 0;
  /** Calls that begin when no such call is left. */
  #held: (() => void)[] = [];
  #underWay = 0;
  #call: NestedCall<unknown> | undefined;
  #wake = (): void => {};

  constructor({ id, request }: Pick<RunningProgram, "id" | "request">, program: Program, lease: Lease) {
    this.id = id;
    this.request = request;
    this.wasKept = lease.wasKept;
    this.timeoutSeconds = program.limits.timeoutMs / 1000;
    this.#lease = lease;
    this.#done = lease.guest
      .run(program, (name, args, signal) => this.#callTool(name, args, signal), this.#controller.signal)
      .finally(() => lease.release());
    // Between two rounds nobody waits for it.
    this.#done.catch(() => {});
  }

  /** Ends the program and everything that it has under way. */
  stop(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Settles when it has ended, however. */
  async whenEnded(): Promise<void> {
    await this.#done.catch(() => {});
  }

  async next<Q>({ call, answers, signal }: Round<Q>): Promise<Step<Q>> {
    this.#call = call as NestedCall<unknown>;
    const stop = (): void => this.stop(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      await this.#lease.resume(signal);
      this.#lease.guest.resume();
      this.#pending.shift()?.answer(answers);
      const asked = await Promise.race([this.#done, this.#nextQuestion()]);
      if (asked !== undefined) return { kind: "ended", result: asked };
      this.#lease.guest.pause();
      this.#lease.suspend();
      return { kind: "asked", questions: this.#pending[0]?.questions as Q };
    } catch (thrown) {
      // Nobody else would end it, because nobody else has it.
      this.stop(thrown);
      throw thrown;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  #nextQuestion(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
      this.#wakeIfQuiet();
    });
  }

  /** The user is asked when everything else has ended: what they look at must not change while they do. */
  #wakeIfQuiet(): void {
    if (this.#pending.length > 0 && this.#pending.length === this.#underWay) this.#wake();
  }

  #beginHeld(): void {
    const held = this.#held;
    this.#held = [];
    for (const begin of held) begin();
  }

  /** Resolves when no call has a question open, or does what its user agreed to. */
  async #untilNobodyAsks(signal: AbortSignal): Promise<void> {
    while (this.#asking > 0)
      await new Promise<void>((resolve, reject) => {
        this.#held.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
  }

  #ask(questions: unknown, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ questions, answer: resolve });
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      this.#wakeIfQuiet();
    });
  }

  async #callTool(name: string, text: string, signal: AbortSignal): Promise<CallAnswer> {
    let args: unknown;
    try {
      args = parseGuarded(text);
    } catch (thrown) {
      return { failure: invalid(thrown) };
    }
    await this.#untilNobodyAsks(signal);
    this.#underWay++;
    const made = { hasAsked: false };
    try {
      return await this.#makeCall(made, name, args, signal);
    } finally {
      this.#underWay--;
      if (made.hasAsked) this.#asking--;
      if (this.#asking === 0) this.#beginHeld();
      this.#wakeIfQuiet();
    }
  }

  async #makeCall(
    made: { hasAsked: boolean },
    name: string,
    args: unknown,
    signal: AbortSignal,
  ): Promise<CallAnswer> {
    let answered: { readonly answers: unknown; readonly state: unknown } | undefined;
    for (;;) {
      const answer = await this.#call?.(name, args, signal, answered);
      if (answer === undefined) throw new Error("a call before the first round");
      if (answer.kind === "error") return { failure: answer.failure };
      if (answer.kind === "ok") {
        const value = JSON.stringify(answer.value ?? null);
        return Buffer.byteLength(value) > MAX_VALUE_BYTES
          ? { failure: TOO_LARGE }
          : { value, isPartial: isPartial(answer.value) };
      }
      if (!made.hasAsked) this.#asking++;
      made.hasAsked = true;
      answered = { answers: await this.#ask(answer.questions, signal), state: answer.state };
    }
  }
}
