import { createHash } from "node:crypto";
import type { ErrorCode } from "../base/error-table.ts";
import type { Generation } from "../llm/contract.ts";

/** Of a text that may be secret: left out of a trace unless its reader asked for it. */
export interface TracedText {
  readonly chars: number;
  /** Its first 32 hexadecimal digits: enough to tell texts apart, half of what sha256sum prints. */
  readonly sha256: string;
  text?: string;
}

interface Timed {
  /** Milliseconds since the session began. */
  readonly startMs: number;
  endMs: number;
}

interface Cost {
  costUsd?: number | undefined;
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
}

export interface TracedTurn extends Timed, Cost {
  readonly turn: number;
  /** When the model had answered. */
  repliedMs?: number;
  reply?: TracedText;
  code?: TracedText;
  output?: TracedText;
  /** What was wrong with it: no code, a failed program, a rejected answer. */
  problem?: string;
}

export interface TracedCall extends Timed, Cost {
  readonly id: string;
  readonly model: string;
  readonly prompt: TracedText;
  answer?: TracedText;
  /** Answered by an earlier call with the same prompt. */
  isRepeated?: true;
  error?: ErrorCode;
}

export interface TracedNode extends Timed {
  /** `0` is the session; `0.2` is the second analysis that it started. */
  readonly id: string;
  readonly depth: number;
  readonly model: string;
  readonly task: TracedText;
  readonly contextBytes: number;
  readonly contextSha256: string;
  readonly turns: TracedTurn[];
  readonly calls: TracedCall[];
  answer?: TracedText;
  outcome?: "ok" | ErrorCode;
}

/** Calls and analyses of a whole tree. More than any limit of calls that makes sense. */
const MAX_TRACED_ENTRIES = 20_000;
/** Of those, answered by an earlier one. */
const MAX_TRACED_REPEATS = 2000;
/** Of a whole tree, in characters; of the texts beyond them only length and digest are kept. */
const MAX_TRACED_CHARS = 16 * 1024 * 1024;

/** Records what an analysis does. Texts are kept as their length and digest, and as themselves only where that is asked for. */
export class TraceRecorder {
  readonly nodes: TracedNode[] = [];
  #entries = 0;
  #repeats = 0;
  #charsLeft: number;
  readonly #startedAt: number;
  readonly #now: () => number;

  constructor(now: () => number, keepsText: boolean) {
    this.#now = now;
    this.#startedAt = now();
    this.#charsLeft = keepsText ? MAX_TRACED_CHARS : 0;
  }

  /**
   * Beyond the bound, calls are counted by the session but not recorded: what costs nothing can be repeated endlessly.
   */
  addCall(node: TracedNode, call: TracedCall): void {
    if (call.isRepeated === true && ++this.#repeats > MAX_TRACED_REPEATS) return;
    if (++this.#entries <= MAX_TRACED_ENTRIES) node.calls.push(call);
  }

  /** Bounded in the same way: an analysis that is refused its first call costs nothing, either. */
  addNode(node: TracedNode): void {
    if (++this.#entries <= MAX_TRACED_ENTRIES) this.nodes.push(node);
  }

  at(): number {
    return Math.round((this.#now() - this.#startedAt) * 10) / 10;
  }

  text(text: string): TracedText {
    const traced = measure(text);
    this.keepText(traced, text);
    return traced;
  }

  /** Adds the text itself to what is known of it, as far as texts are kept. */
  keepText(traced: TracedText, text: string): void {
    if (text.length >= this.#charsLeft) return;
    this.#charsLeft -= text.length;
    traced.text = text;
  }

  /** Of everything that was asked, answered and run, in the order of the tree and without times. */
  trajectory(): string {
    const plain = [...this.nodes]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, model, task, contextSha256, turns, calls, answer, outcome }) => [
        id,
        model,
        task.sha256,
        contextSha256,
        turns.map(({ reply, code, output, problem }) => [
          reply?.sha256,
          code?.sha256,
          output?.sha256,
          problem,
        ]),
        [...calls]
          .sort(
            (a, b) => Number(a.id.slice(a.id.indexOf(":") + 1)) - Number(b.id.slice(b.id.indexOf(":") + 1)),
          )
          .map((call) => [call.id, call.model, call.prompt.sha256, call.answer?.sha256, call.error]),
        answer?.sha256,
        outcome,
      ]);
    return digest(JSON.stringify(plain));
  }
}

/** A text without itself. */
export const measure = (text: string): TracedText => ({ chars: text.length, sha256: digest(text) });

/** The first half of the SHA-256 of a text. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);

export const addCost = (entry: Cost, { usage, costUsd }: Generation): void => {
  entry.costUsd = costUsd;
  entry.inputTokens = usage.inputTokens;
  entry.outputTokens = usage.outputTokens;
};
