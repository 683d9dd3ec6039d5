import { isBreakerRefusal } from "../base/circuit-breaker.ts";
import { LlmcError } from "../base/error.ts";
import type { CountTokens } from "../base/tokens.ts";
import type { Budget, WorstCase } from "./budget.ts";
import type { GenerateRequest, Generation, Message, Model } from "./contract.ts";
import { mayBeBilled } from "./failures.ts";

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

/**
 * More tokens than the provider can count. Tokenizers that we do not have make at most one token of each byte, so their
 * bound is four times what they really count; what was reserved too much is free again when the call is settled.
 */
export const boundInputTokens = (
  model: string,
  messages: readonly Message[],
  countTokens: CountTokens,
): number => {
  const count = O200K.test(model) ? countTokens : (text: string): number => Buffer.byteLength(text);
  return messages.reduce((sum, { text }) => sum + count(text) + TOKENS_PER_MESSAGE, TOKENS_PER_MESSAGE);
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
  { messages, maxOutputTokens }: Pick<GenerateRequest, "messages" | "maxOutputTokens">,
  { countTokens, allowUnknownPrice }: Pick<MeterParts, "countTokens" | "allowUnknownPrice">,
): Promise<WorstCase> => {
  const inputTokens = boundInputTokens(model.name, messages, countTokens);
  const costUsd = await model.worstCostUsd(inputTokens, maxOutputTokens);
  if (costUsd === undefined && !allowUnknownPrice) throw unknownPrice(model.name);
  return { costUsd, inputTokens, outputTokens: maxOutputTokens };
};

/** Calls models within a budget, and up to twice more where nothing was spent. */
export const createMeter = (parts: MeterParts): Meter => {
  const { budget, onGenerated, retryDelayMs = FIRST_DELAY_MS } = parts;
  return async (model, { depth, ...request }) => {
    const worst = await worstCaseOf(model, request, parts);
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
