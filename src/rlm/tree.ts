import { createBoundedQueue } from "../base/bounded-queue.ts";
import { LlmcError } from "../base/error.ts";
import { Budget } from "../llm/budget.ts";
import type { Generation, Message, Model } from "../llm/contract.ts";
import { createMeter, type Meter } from "../llm/metered.ts";
import { ChildSlots } from "./child-slots.ts";
import type { AnalysisParts, AnalysisRequest, Progress, TurnCounts } from "./contract.ts";
import { digest, type TraceRecorder } from "./trace.ts";

/** What the analyses of one depth may have of text together, where the context itself has less. */
const MIN_CHILDREN_CHARS = 16 * 1024 * 1024;
/** Searches of one session at once: each is a process, or work for the thread that answers everybody. */
const MAX_SEARCHES_AT_ONCE = 4;
const MAX_SEARCHES_WAITING = 1000;
/** Prompts of one session that are not answered yet, repeated ones included. */
const MAX_PROMPTS = 5000;
/** A call ends with its connection, at once; one that does not counts as its worst case. */
const MAX_SETTLING_MS = 1000;

const tooManySearches = (): LlmcError =>
  new LlmcError("busy", `More than ${MAX_SEARCHES_WAITING} searches are waiting.`, {
    hint: "Start fewer at once.",
  });

const tooManyPrompts = (): LlmcError =>
  new LlmcError("busy", `More than ${MAX_PROMPTS} prompts are waiting.`, { hint: "Send fewer at once." });

const moreThanCalls = (calls: number): LlmcError =>
  new LlmcError("budget_exceeded", `More prompts are waiting than are left of ${calls} model calls.`, {
    hint: "Ask for less.",
    details: { limit: "max_calls" },
  });

const noCounts = (): TurnCounts => ({
  turns: 0,
  without_code: 0,
  failed_programs: 0,
  repeated: 0,
  refused: 0,
  out_of_tokens: 0,
  cut_outputs: 0,
  rejected_answers: 0,
  ended_interpreters: 0,
  repeated_prompts: 0,
  children: 0,
});

/** A model call whose answer any number of programs wait for, or will ask for later. */
interface SharedCall {
  readonly generation: Promise<Generation>;
  readonly controller: AbortController;
  waiters: number;
  /** Whether its provider was asked: it may have been refused before. */
  isSent: boolean;
}

/** What all analyses of one session share: the budget, the deadline, the models, the record. */
export class Tree {
  readonly request: AnalysisRequest;
  readonly parts: AnalysisParts;
  readonly signal: AbortSignal;
  readonly budget: Budget;
  readonly trace: TraceRecorder;
  readonly counts = noCounts();
  readonly root: Model;
  readonly sub: Model;
  readonly #meter: Meter;
  readonly #answered = new Map<string, SharedCall>();
  readonly #underWay = new Set<Promise<Generation>>();
  #prompts = 0;
  readonly #slots: ChildSlots[] = [];
  readonly #children = new Set<Promise<unknown>>();

  readonly #searches = createBoundedQueue(
    () => ({ maxRunning: MAX_SEARCHES_AT_ONCE, maxWaiting: MAX_SEARCHES_WAITING }),
    tooManySearches,
  );

  constructor(
    request: AnalysisRequest,
    parts: AnalysisParts,
    models: { readonly root: Model; readonly sub: Model },
    signal: AbortSignal,
    trace: TraceRecorder,
  ) {
    this.request = request;
    this.parts = parts;
    this.signal = signal;
    this.trace = trace;
    this.root = models.root;
    this.sub = models.sub;
    this.budget = new Budget(request.limits);
    this.#meter = createMeter({
      budget: this.budget,
      countTokens: parts.countTokens,
      allowUnknownPrice: request.allowUnknownPrice,
      ...(parts.onGenerated === undefined ? {} : { onGenerated: parts.onGenerated }),
    });
  }

  inSearchSlot<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#searches.run(work, signal);
  }

  /** The next reply of a conversation. Where another one follows, the provider may keep its beginning in its cache. */
  askTurn(
    model: Model,
    messages: readonly Message[],
    depth: number,
    signal: AbortSignal,
  ): Promise<Generation> {
    return this.#ask(model, messages, depth, { cachePrompt: this.request.limits.maxTurns > 1, signal });
  }

  /** Works on prompts of a program, all of them or none. */
  async withPrompts<T>(count: number, work: () => Promise<T>): Promise<T> {
    if (this.#prompts + count > MAX_PROMPTS) throw tooManyPrompts();
    this.#prompts += count;
    try {
      return await work();
    } finally {
      this.#prompts -= count;
    }
  }

  /** The answer to a prompt that may have been given before; what failed or came back empty is asked again. */
  askOnce(
    model: Model,
    messages: readonly Message[],
    depth: number,
    signal: AbortSignal,
  ): { readonly generation: Promise<Generation>; readonly isRepeated: boolean; wasSent(): boolean } {
    const key = digest(JSON.stringify([model.name, messages]));
    const known = this.#answered.get(key);
    if (known !== undefined) this.counts.repeated_prompts++;
    const call = known ?? this.#startShared(key, model, messages, depth);
    return {
      generation: this.#waitFor(key, call, signal),
      isRepeated: known !== undefined,
      wasSent: () => call.isSent,
    };
  }

  #startShared(key: string, model: Model, messages: readonly Message[], depth: number): SharedCall {
    const { calls, parallel } = this.request.limits;
    // Those that were sent, of which there are `parallel` at most, count on both sides.
    if (this.budget.spending().calls + this.#underWay.size >= calls + parallel) throw moreThanCalls(calls);
    const controller = new AbortController();
    const signal = AbortSignal.any([this.signal, controller.signal]);
    const observed: Model = {
      ...model,
      generate: (request) => {
        call.isSent = true;
        return model.generate(request);
      },
    };
    // Not marked for the provider's cache: writing to it costs more than it saves where nothing follows.
    const generation = this.#ask(observed, messages, depth, { cachePrompt: false, signal });
    const call: SharedCall = { generation, controller, waiters: 0, isSent: false };
    this.#answered.set(key, call);
    const forget = (): void => this.#forget(key, call);
    generation.then(({ text }) => (text.trim() === "" ? forget() : undefined), forget);
    return call;
  }

  #forget(key: string, call: SharedCall): void {
    if (this.#answered.get(key) === call) this.#answered.delete(key);
  }

  /** Several programs may wait for the same answer: the call ends when the last of them has ended. */
  #waitFor(key: string, call: SharedCall, signal: AbortSignal): Promise<Generation> {
    call.waiters++;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason);
        if (--call.waiters > 0) return;
        this.#forget(key, call);
        call.controller.abort(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      call.generation.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }

  /**
   * Once the signal has ended everything: waits, for a limited time, until each interpreter is gone and each call has ended
   * and is counted.
   */
  async settle(): Promise<void> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, MAX_SETTLING_MS);
    await Promise.race([Promise.allSettled([...this.#underWay, ...this.#children]), isLate]);
    clearTimeout(timer);
    this.budget.failOpen();
  }

  #ask(
    model: Model,
    messages: readonly Message[],
    depth: number,
    how: { readonly cachePrompt: boolean; readonly signal: AbortSignal },
  ): Promise<Generation> {
    const { maxOutputTokens, callTimeoutMs } = this.request.limits;
    const generation = this.#meter(model, {
      messages,
      maxOutputTokens,
      timeoutMs: callTimeoutMs,
      depth,
      ...how,
    });
    const forget = (): void => void this.#underWay.delete(generation);
    this.#underWay.add(generation);
    generation.then(forget, forget);
    return generation;
  }

  /** Runs an analysis of a depth as soon as there is a slot for it and its text. */
  inChildSlot<T>(depth: number, chars: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.#slots[depth] ??= new ChildSlots({
      maxChars: Math.max(this.request.context.text.length, MIN_CHILDREN_CHARS),
      slots: this.parts.slots,
    });
    const child = this.#slots[depth].run(chars, signal, work);
    const forget = (): void => void this.#children.delete(child);
    this.#children.add(child);
    child.then(forget, forget);
    return child;
  }

  report(turn: number, event: Progress["event"]): void {
    const { calls, costUsd, budgetUsd } = this.budget.spending();
    const { maxTurns } = this.request.limits;
    this.request.onProgress?.({ turn, maxTurns, calls, costUsd, budgetUsd, event });
  }
}
