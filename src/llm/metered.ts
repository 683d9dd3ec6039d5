import { isBreakerRefusal } from "../base/circuit-breaker.ts";
import { LlmcError } from "../base/error.ts";
import type { CountTokens } from "../base/tokens.ts";
import type { Budget, WorstCase } from "./budget.ts";
import type { GenerateRequest, Generation, Message, Model } from "./contract.ts";
import { mayBeBilled } from "./failures.ts";
import { createPace } from "./pace.ts";

export interface MeteredRequest extends Omit<GenerateRequest, "onText" | "signal"> {
  /** 0: the session itself; 1: what it calls, and so on. */
  readonly depth: number;
  readonly signal: AbortSignal;
}

interface MeterParts {
  readonly budget: Budget;
  readonly countTokens: CountTokens;
  /** Let calls be made whose price is unknown; the cap in dollars does not hold for them. */
  readonly allowUnknownPrice: boolean;
  /** Told of every answer that was paid for. */
  readonly onGenerated?: (model: string, generation: Generation) => void;
  /** Of the first wait before another try. */
  readonly retryDelayMs?: number;
}

/** Models that are known to count with o200k_base, the tokenizer that we have. */
const O200K = /^openai\/(?:gpt-4o|gpt-4\.1|gpt-5|chatgpt-4o|o[134])/;
/** What the formats of providers add to a message and to a call, with room. */
const TOKENS_PER_MESSAGE = 8;

/** A longer prompt is bounded by its bytes, with every tokenizer: merging its tokens would take seconds. */
const MAX_COUNTED_BYTES = 64 * 1024;
/** Counted at once; of the slowest texts, some ten milliseconds. */
const SLICE_CHARS = 1024;
/** Of two slices, the last token of one and the first of the other may be others than those of both together. */
const TOKENS_PER_CUT = 1;

const countInSlices = async (
  text: string,
  countTokens: CountTokens,
  pace: () => Promise<void> | undefined,
): Promise<number> => {
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    const isInCharacter = /[\uD800-\uDBFF]/.test(text[at + SLICE_CHARS - 1] ?? "");
    const end = at + SLICE_CHARS + (isInCharacter ? 1 : 0);
    tokens += countTokens(text.slice(at, end)) + (at === 0 ? 0 : TOKENS_PER_CUT);
    at = end;
    await pace();
  }
  return tokens;
};

/**
 * An upper bound of the tokens that the provider counts. A tokenizer that we do not have makes at most one token of each
 * byte, which is some four times the real number; what was reserved too much is free again when the call is settled.
 */
export const boundInputTokens = async (
  model: string,
  messages: readonly Message[],
  countTokens: CountTokens,
  signal?: AbortSignal,
): Promise<number> => {
  const pace = createPace(signal);
  let tokens = TOKENS_PER_MESSAGE;
  let left = O200K.test(model) ? MAX_COUNTED_BYTES : 0;
  for (const { text } of messages) {
    const bytes = Buffer.byteLength(text);
    left -= bytes;
    tokens += TOKENS_PER_MESSAGE + (left < 0 ? bytes : await countInSlices(text, countTokens, pace));
  }
  return tokens;
};

const MAX_TRIES = 3;
const FIRST_DELAY_MS = 250;
/** A provider that asks for longer is reported instead of waited for. */
const MAX_DELAY_MS = 20_000;

const unknownPrice = (model: string): LlmcError =>
  new LlmcError("budget_exceeded", `The price of ${model} is not known, so no budget can hold for it.`, {
    hint: `The operator gives one in mcp.llm.prices, as "${model}=INPUT/OUTPUT" in dollars for a million tokens, or sets mcp.rlm.allow_unknown_price.`,
    details: { limit: "unknown_price" },
  });

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });

/** Milliseconds until another try; undefined where there is none. */
const delayOf = (thrown: unknown, tries: number, firstMs: number): number | undefined => {
  if (!(thrown instanceof LlmcError) || !thrown.retryable || mayBeBilled(thrown)) return undefined;
  if (tries >= MAX_TRIES || isBreakerRefusal(thrown)) return undefined;
  const asked = thrown.details["retry_after_ms"];
  const own = firstMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
  const ms = typeof asked === "number" ? Math.max(asked, own) : own;
  return ms > MAX_DELAY_MS ? undefined : ms;
};

export type Meter = (model: Model, request: MeteredRequest) => Promise<Generation>;

/** The most that a call can take; refuses one whose price nobody knows. */
export const worstCaseOf = async (
  model: Model,
  { messages, maxOutputTokens, signal }: Pick<GenerateRequest, "messages" | "maxOutputTokens" | "signal">,
  { countTokens, allowUnknownPrice }: Pick<MeterParts, "countTokens" | "allowUnknownPrice">,
): Promise<WorstCase> => {
  const inputTokens = await boundInputTokens(model.name, messages, countTokens, signal);
  const costUsd = await model.worstCostUsd(inputTokens, maxOutputTokens);
  if (costUsd === undefined && !allowUnknownPrice) throw unknownPrice(model.name);
  return { costUsd, inputTokens, outputTokens: maxOutputTokens };
};

/** Calls models within a budget, and up to twice more where nothing was spent. */
export const createMeter = (parts: MeterParts): Meter => {
  const { budget, onGenerated, retryDelayMs = FIRST_DELAY_MS } = parts;
  // One prompt is counted after the other: those of a batch would take their slices all in the same round.
  let counting: Promise<unknown> = Promise.resolve();
  const countInOrder = (model: Model, request: Omit<MeteredRequest, "depth">): Promise<WorstCase> => {
    const counted = counting.then(() => {
      request.signal.throwIfAborted();
      // What can never be sent is refused before any work is done for it.
      budget.refuseIfSpent(request.maxOutputTokens);
      return worstCaseOf(model, request, parts);
    });
    counting = counted.catch(() => {});
    return counted;
  };
  return async (model, { depth, ...request }) => {
    const worst = await countInOrder(model, request);
    for (let tries = 1; ; tries++) {
      const reservation = await budget.reserve(worst, depth, request.signal);
      try {
        const generation = await model.generate(request);
        reservation.settle(generation);
        onGenerated?.(model.name, generation);
        return generation;
      } catch (thrown) {
        if (mayBeBilled(thrown)) reservation.fail();
        else reservation.release();
        const ms = delayOf(thrown, tries, retryDelayMs);
        if (ms === undefined) throw thrown;
        await pause(ms, request.signal);
      }
    }
  };
};
