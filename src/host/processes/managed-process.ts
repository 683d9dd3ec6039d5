import { setTimeout as sleep } from "node:timers/promises";
import { type LlmcError, toLlmcError } from "../../base/error.ts";
import { LIMIT_NOTES } from "../../base/limit-notes.ts";
import type { StartedCommand } from "../run/runner.ts";
import { MAX_NEW_BESIDE } from "../run/scan/new-findings.ts";
import { type Quarantined, showQuarantined } from "../run/scan/quarantined.ts";
import { createOutputRing } from "../run/tree/output-ring.ts";
import { DRAIN_MS, exitOf } from "../run/tree/run-tree.ts";
import type { Channel, ProcessOutput, ProcessView, ReadRequest } from "./contract.ts";
import { endsWithPrompt, readsInput } from "./prompt.ts";
import { settledLength, terminalText } from "./terminal-text.ts";
import { createThrottle } from "./throttle.ts";

/** Kept of each process's output. */
const RING_BYTES = 524_288;
/** The end of the output in which a prompt is looked for. */
const PROMPT_BYTES = 1024;

interface ProcessParts {
  /** Paths are shown relative to it. */
  readonly root: string;
  readonly id: string;
  readonly ownerId: string;
  readonly command: string;
  readonly pty: boolean;
  readonly channel: Channel;
  readonly now: () => number;
}

const lastLines = (text: string, lines: number): string => {
  const all = text.split("\n");
  const hasEnd = all.at(-1) === "";
  return all.slice(-(hasEnd ? lines + 1 : lines)).join("\n");
};

const quarantineNote = (quarantined: readonly Quarantined[], root: string): string => {
  const { renamed, unresolved } = showQuarantined(quarantined, root);
  return [
    ...renamed.map((move) => `[protected: ${move}; if the user made it, mv brings it back]\n`),
    ...unresolved.map((one) => `[protected: ${one}]\n`),
  ].join("");
};

/** One process of a client: its tree, its streams, and what is kept of its output. */
export class ManagedProcess {
  readonly id: string;
  readonly ownerId: string;
  readonly pty: boolean;
  readonly channel: Channel;
  /** When it was last read from, written to, or wrote. */
  activeAt: number;
  endedAt: number | undefined;
  /** Why we ended it, or the limit that it ran into. */
  reason: string | undefined;
  failure: LlmcError | undefined;
  /** Set when every process of it is gone and nothing more comes. */
  readonly gone: Promise<void>;
  readonly #parts: ProcessParts;
  readonly #started: StartedCommand;
  readonly #startedAt: number;
  readonly #ring = createOutputRing(RING_BYTES);
  readonly #throttle: ReturnType<typeof createThrottle>;
  readonly #listeners = new Set<() => void>();
  #cursor = 0;
  /** Where its output ended when it was last given input. */
  #sentAt = 0;
  /** It has asked for input before, so that an answer without a prompt is taken for incomplete. */
  #hasPrompted = false;
  #isInspecting = false;
  /** What it made and has lost again. */
  #renamed = 0;

  constructor(parts: ProcessParts, started: StartedCommand) {
    this.#parts = parts;
    this.#started = started;
    this.id = parts.id;
    this.ownerId = parts.ownerId;
    this.pty = parts.pty;
    this.channel = parts.channel;
    this.#startedAt = parts.now();
    this.activeAt = this.#startedAt;
    this.#throttle = createThrottle(parts.channel);
    this.channel.onData((chunk) => {
      this.#ring.push(chunk);
      this.#throttle.count(chunk.length);
      this.activeAt = parts.now();
      this.#notify();
    });
    this.gone = this.#untilGone();
  }

  get tree(): StartedCommand["tree"] {
    return this.#started.tree;
  }

  get isRunning(): boolean {
    return this.endedAt === undefined;
  }

  get hasUnread(): boolean {
    return this.#ring.end > this.#cursor;
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  async #untilGone(): Promise<void> {
    const { tree } = this.#started;
    await tree.exited;
    if (tree.hasNamespace) await tree.reported(DRAIN_MS);
    // If a stop is in progress, the remaining processes get their grace period as well.
    await tree.settled();
    await tree.sweep();
    this.#throttle.stop();
    await Promise.race([this.channel.ended, sleep(DRAIN_MS, undefined, { ref: false })]);
    this.channel.close();
    const limit = this.#started.limit();
    if (limit !== undefined) this.reason ??= LIMIT_NOTES[limit];
    try {
      if (this.reason === undefined) this.#started.check(this.#ring.from(0));
    } catch (thrown) {
      this.failure = toLlmcError(thrown);
    }
    const quarantined = await this.#started.finish().catch(() => []);
    this.#report(quarantined);
    this.endedAt = this.#parts.now();
    this.#notify();
  }

  #report(quarantined: readonly Quarantined[]): void {
    if (quarantined.length > 0) this.#ring.push(Buffer.from(quarantineNote(quarantined, this.#parts.root)));
  }

  /** Called periodically; renamed files are reported in the output. Whether it has made more than can be watched. */
  async quarantineNew(): Promise<boolean> {
    if (this.#isInspecting || !this.isRunning) return false;
    this.#isInspecting = true;
    try {
      const quarantined = await this.#started.quarantineNew().catch(() => []);
      this.#report(quarantined);
      this.#renamed += quarantined.length;
      return this.#renamed > MAX_NEW_BESIDE || quarantined.some(({ kind }) => kind === "too many new");
    } finally {
      this.#isInspecting = false;
    }
  }

  view(): ProcessView {
    const { command, now } = this.#parts;
    const { exitCode, signal } = this.isRunning
      ? { exitCode: undefined, signal: undefined }
      : exitOf(this.tree);
    return {
      id: this.id,
      pid: this.tree.child.pid ?? 0,
      command,
      tier: this.#started.tier,
      pty: this.pty,
      state: this.isRunning ? "running" : "ended",
      runtimeMs: (this.endedAt ?? now()) - this.#startedAt,
      outputBytes: this.#ring.end,
      exitCode,
      signal,
      reason: this.reason,
    };
  }

  /** Resolves when output has arrived and paused, the process has ended, or the time is up. */
  settle(
    since: number | undefined,
    waitMs: number,
    quietMs: number,
    signal?: AbortSignal,
    isAnswer: () => boolean = () => true,
  ): Promise<void> {
    const from = since ?? this.#cursor;
    return new Promise((resolve) => {
      let quiet: NodeJS.Timeout | undefined;
      const done = (): void => {
        clearTimeout(deadline);
        clearTimeout(quiet);
        this.#listeners.delete(check);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const doneIfAnswered = (): void => {
        if (isAnswer()) done();
      };
      const check = (): void => {
        clearTimeout(quiet);
        if (!this.isRunning) done();
        else if (this.#ring.end > from) quiet = setTimeout(doneIfAnswered, quietMs);
      };
      const deadline = setTimeout(done, waitMs);
      signal?.addEventListener("abort", done, { once: true });
      this.#listeners.add(check);
      if (signal?.aborted === true || waitMs === 0) done();
      else check();
    });
  }

  /** The same after input: a terminal's echo of it is no answer, and a program that prompts has to prompt again. */
  settleAnswer(echo: string, waitMs: number, quietMs: number, signal?: AbortSignal): Promise<void> {
    const expectsPrompt = this.#hasPrompted;
    return this.settle(undefined, waitMs, quietMs, signal, () => {
      const text = this.#textFrom(this.#cursor).text;
      const answer = echo !== "" && text.startsWith(echo) ? text.slice(echo.length) : text;
      return answer !== "" && !echo.startsWith(text) && (!expectsPrompt || endsWithPrompt(answer));
    });
  }

  /** It sleeps in a read, or it has printed a prompt and does nothing that has another end. */
  get waitsForInput(): boolean {
    if (!this.isRunning) return false;
    const { tree } = this;
    // The sandbox's own process waits for the others, and has the same standard input.
    const launcher = tree.hasNamespace ? tree.child.pid : undefined;
    const answers = tree.find().flatMap(({ pid }) => (pid === launcher ? [] : readsInput(pid)));
    return (
      answers.includes("yes") || (this.#isAtPrompt && (answers.length === 0 || answers.includes("perhaps")))
    );
  }

  /** A prompt before the last input was answered by it. */
  get #isAtPrompt(): boolean {
    const from = Math.max(this.#ring.begin, this.#ring.end - PROMPT_BYTES, this.#sentAt);
    return endsWithPrompt(this.#textFrom(from).text);
  }

  noteInput(): void {
    this.#sentAt = this.#ring.end;
  }

  #textFrom(position: number): { readonly text: string; readonly length: number } {
    const bytes = this.#ring.from(position);
    const length = this.isRunning ? settledLength(bytes, this.pty) : bytes.length;
    const decoded = bytes.toString("utf8", 0, length);
    return { text: this.pty ? terminalText(decoded) : decoded, length };
  }

  read({ from, lines }: Pick<ReadRequest, "from" | "lines">): ProcessOutput {
    this.activeAt = this.#parts.now();
    const position = lines === undefined ? (from ?? this.#cursor) : 0;
    const first = Math.min(Math.max(position, this.#ring.begin), this.#ring.end);
    const { text, length } = this.#textFrom(first);
    this.#cursor = first + length;
    const waitsForInput = this.waitsForInput;
    this.#hasPrompted ||= waitsForInput && this.#isAtPrompt;
    return {
      ...this.view(),
      waitsForInput,
      text: lines === undefined ? text : lastLines(text, lines),
      next: this.#cursor,
      lostBytes: lines === undefined ? Math.max(0, first - position) : 0,
    };
  }

  /** Ends the whole process tree; only the first reason is kept. */
  async end(reason: string, graceMs: number): Promise<void> {
    await this.endTree(reason, graceMs);
    await this.gone;
  }

  /** The same without waiting for the check of what it left. */
  async endTree(reason: string, graceMs: number): Promise<void> {
    if (this.isRunning) this.reason ??= reason;
    await this.tree.end(graceMs);
  }
}
