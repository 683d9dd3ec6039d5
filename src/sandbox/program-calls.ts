import { setImmediate as nextTurn } from "node:timers/promises";
import { LlmcError } from "../base/error.ts";
import type { CallAnswer, CallRecord, CallTool } from "./contract.ts";
import type { CallFailure, FromGuest } from "./guest/messages.ts";

type Call = Omit<Extract<FromGuest, { type: "call" }>, "type">;

interface CallsParts {
  readonly callTool: CallTool;
  /** Calls that run at once; the others wait in order. */
  readonly maxParallel?: number | undefined;
  readonly settle: (call: number, answer: CallAnswer) => void;
  /** Whether so much is waiting or under way that no further frame should be read. */
  readonly onFull: (isFull: boolean) => void;
}

const MAX_PARALLEL = 8;
/** Bound on the arguments of all calls that are not answered yet; further calls wait in the program. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

const ABANDONED = new LlmcError("cancelled", "The program has ended.");

const BROKEN: CallFailure = {
  code: "internal_error",
  message: "An unexpected error occurred.",
  retryable: false,
};

interface UnderWay {
  readonly name: string;
  readonly startedAt: number;
}

const durationOf = ({ startedAt }: UnderWay): number => Math.round((performance.now() - startedAt) * 10) / 10;

/** The tool calls of one program while it runs. */
export class ProgramCalls {
  readonly records: CallRecord[] = [];
  /** All that were asked for. */
  made = 0;
  readonly #parts: CallsParts;
  /** Ends calls that are under way when the program has ended. */
  readonly #controller = new AbortController();
  readonly #waiting: Call[] = [];
  #heldBytes = 0;
  readonly #underWay = new Set<UnderWay>();

  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  add(call: Call): void {
    this.made++;
    this.#hold(call.args.length);
    if (this.#underWay.size < (this.#parts.maxParallel ?? MAX_PARALLEL)) {
      void this.#make(call);
      return;
    }
    this.#waiting.push(call);
  }

  /** Ends the calls that are under way. Nobody waits for their results any more, so they are recorded now. */
  stop(reason: unknown = ABANDONED): void {
    this.#waiting.length = 0;
    for (const call of this.#underWay)
      this.records.push({ name: call.name, durationMs: durationOf(call), ok: false, isCutOff: true });
    this.#underWay.clear();
    this.#controller.abort(reason);
  }

  async #make({ call, name, args }: Call, hasWaited = false): Promise<void> {
    const { callTool, settle } = this.#parts;
    const { signal } = this.#controller;
    const underWay = { name, startedAt: performance.now() };
    this.#underWay.add(underWay);
    // Calls that end at once would otherwise follow each other without letting anybody else have a turn.
    if (hasWaited) await nextTurn();
    const answer = await callTool(name, args, signal).catch(() => ({ failure: BROKEN }) as const);
    if (!this.#underWay.delete(underWay)) return;
    this.#hold(-args.length);
    this.#makeNext();
    const isPartial = "value" in answer && answer.isPartial === true;
    this.records.push({
      name,
      durationMs: durationOf(underWay),
      ...("value" in answer ? { ok: true } : { ok: false, errorCode: answer.failure.code }),
      ...(isPartial ? { isPartial } : {}),
    });
    // How complete it is stands in the value itself.
    settle(call, "value" in answer ? { value: answer.value } : answer);
  }

  #makeNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) void this.#make(next, true);
  }

  #hold(change: number): void {
    const wasFull = this.#heldBytes > MAX_HELD_BYTES;
    this.#heldBytes += change;
    const isFull = this.#heldBytes > MAX_HELD_BYTES;
    if (isFull !== wasFull) this.#parts.onFull(isFull);
  }
}
