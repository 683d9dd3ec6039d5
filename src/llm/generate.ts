import { LlmcError } from "../base/error.ts";
import type { Finish, GenerateRequest, Generation, Message, Usage } from "./contract.ts";
import { cutOff, type FailureContext, notUnderstood, translateFailure } from "./failures.ts";
import type { SdkModel } from "./providers.ts";

type CallOptions = Parameters<SdkModel["doGenerate"]>[0];
type SdkResult = Awaited<ReturnType<SdkModel["doGenerate"]>>;
type SdkFinish = SdkResult["finishReason"]["unified"];

type Outcome = Omit<Generation, "costUsd">;

/** Anthropic caches up to a marked message; the others cache by themselves and ignore the mark. */
const CACHED = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } };

const promptOf = (messages: readonly Message[], cachePrompt: boolean): CallOptions["prompt"] =>
  messages.map(({ role, text }, at) => {
    const mark = cachePrompt && (role === "system" || at === messages.length - 1) ? CACHED : {};
    return role === "system"
      ? { role, content: text, ...mark }
      : { role, content: [{ type: "text" as const, text }], ...mark };
  });

/** Providers count by themselves: what cannot be a number of tokens is not known. */
const countOf = (tokens: number | undefined): number | undefined =>
  Number.isSafeInteger(tokens) && Number(tokens) >= 0 ? tokens : undefined;

const usageOf = ({ inputTokens, outputTokens }: SdkResult["usage"]): Usage => ({
  inputTokens: countOf(inputTokens.total),
  outputTokens: countOf(outputTokens.total),
  cacheReadTokens: countOf(inputTokens.cacheRead),
  cacheWriteTokens: countOf(inputTokens.cacheWrite),
});

/** A text has at least one token: a proxy that lost the usage reports zero, and then the number is unknown. */
const knownFor = (text: string, tokens: number | undefined): number | undefined =>
  tokens === 0 && text !== "" ? undefined : tokens;

const finishOf = (reason: SdkFinish, context: FailureContext): Finish => {
  switch (reason) {
    case "stop":
    case "length":
      return reason;
    case "content-filter":
      return "filtered";
    case "error":
    case "interrupted":
      throw cutOff(context);
    default:
      return "other";
  }
};

/** No token of a model stands for more characters; these are runs of blanks. */
export const MAX_CHARS_PER_TOKEN = 128;

/**
 * Corrects what cannot be true of an answer. A text that is longer than was asked for is cut, before anything works on
 * it.
 */
const bound = (
  { text, finish, usage }: Outcome,
  { messages, maxOutputTokens }: Pick<GenerateRequest, "messages" | "maxOutputTokens">,
): Outcome => {
  const maxChars = maxOutputTokens * MAX_CHARS_PER_TOKEN;
  const prompt = messages.find((message) => message.text !== "")?.text ?? "";
  return {
    text: text.slice(0, maxChars),
    finish: text.length > maxChars ? "length" : finish,
    usage: {
      ...usage,
      inputTokens: knownFor(prompt, usage.inputTokens),
      outputTokens: knownFor(text, usage.outputTokens),
    },
  };
};

const generateWhole = async (
  sdk: SdkModel,
  options: CallOptions,
  context: FailureContext,
): Promise<Outcome> => {
  const { content, finishReason, usage } = await sdk.doGenerate(options);
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return { text, finish: finishOf(finishReason.unified, context), usage: usageOf(usage) };
};

const generateStreamed = async (
  sdk: SdkModel,
  options: CallOptions,
  context: FailureContext,
  onText: (piece: string) => void,
): Promise<Outcome> => {
  const { stream } = await sdk.doStream(options);
  let text = "";
  for await (const part of stream) {
    if (part.type === "text-delta") {
      text += part.delta;
      onText(part.delta);
    } else if (part.type === "error") throw part.error;
    else if (part.type === "finish") {
      return { text, finish: finishOf(part.finishReason.unified, context), usage: usageOf(part.usage) };
    }
  }
  throw cutOff(context);
};

const timedOut = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `The model did not answer within ${timeoutMs / 1000} s.`, {
    hint: "Ask for less, or raise mcp.llm.timeout_seconds.",
  });

const cancelled = (reason: unknown): LlmcError =>
  reason instanceof LlmcError ? reason : new LlmcError("cancelled", "The call was cancelled.");

/** One call, until the answer, the timeout or the caller's cancellation. */
export const generate = async (
  sdk: SdkModel,
  request: GenerateRequest,
  context: FailureContext,
): Promise<Outcome> => {
  const { messages, maxOutputTokens, timeoutMs, temperature, signal, onText, cachePrompt = false } = request;
  const controller = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    controller.signal.addEventListener("abort", () => reject(controller.signal.reason), { once: true });
  });
  // Nobody waits for it after an answer.
  stopped.catch(() => {});
  const timer = setTimeout(() => controller.abort(timedOut(timeoutMs)), timeoutMs);
  const cancel = () => controller.abort(cancelled(signal?.reason));
  if (signal?.aborted) cancel();
  else signal?.addEventListener("abort", cancel, { once: true });
  const options: CallOptions = {
    prompt: promptOf(messages, cachePrompt),
    maxOutputTokens,
    abortSignal: controller.signal,
    ...(temperature === undefined ? {} : { temperature }),
  };
  try {
    controller.signal.throwIfAborted();
    // The library may not react to the signal at every moment.
    const outcome = await Promise.race([
      stopped,
      onText === undefined
        ? generateWhole(sdk, options, context)
        : generateStreamed(sdk, options, context, onText),
    ]);
    // Another kind of document, which the library took for an empty answer.
    if (outcome.text === "" && outcome.finish === "other") throw notUnderstood(context);
    return bound(outcome, request);
  } catch (thrown) {
    // An interrupted call may throw anything; the reason of the signal is the true one.
    throw controller.signal.aborted ? cancelled(controller.signal.reason) : translateFailure(thrown, context);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
    // Closes a connection whose answer was not read completely.
    controller.abort();
  }
};
