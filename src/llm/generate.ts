import { LlmcError } from "../base/error.ts";
import type { Finish, GenerateRequest, Generation, Message, Usage } from "./contract.ts";
import { brokeOff, type FailurePlace, notUnderstood, translateFailure } from "./failures.ts";
import type { SdkModel } from "./providers.ts";

type CallOptions = Parameters<SdkModel["doGenerate"]>[0];
type SdkResult = Awaited<ReturnType<SdkModel["doGenerate"]>>;
type SdkFinish = SdkResult["finishReason"]["unified"];

type Outcome = Omit<Generation, "costUsd">;

const promptOf = (messages: readonly Message[]): CallOptions["prompt"] =>
  messages.map(({ role, text }) =>
    role === "system" ? { role, content: text } : { role, content: [{ type: "text" as const, text }] },
  );

const usageOf = ({ inputTokens, outputTokens }: SdkResult["usage"]): Usage => ({
  inputTokens: inputTokens.total,
  outputTokens: outputTokens.total,
  cacheReadTokens: inputTokens.cacheRead,
  cacheWriteTokens: inputTokens.cacheWrite,
});

const finishOf = (reason: SdkFinish, place: FailurePlace): Finish => {
  switch (reason) {
    case "stop":
    case "length":
      return reason;
    case "content-filter":
      return "filtered";
    case "error":
    case "interrupted":
      throw brokeOff(place);
    default:
      return "other";
  }
};

const generateWhole = async (sdk: SdkModel, options: CallOptions, place: FailurePlace): Promise<Outcome> => {
  const { content, finishReason, usage } = await sdk.doGenerate(options);
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return { text, finish: finishOf(finishReason.unified, place), usage: usageOf(usage) };
};

const generateStreamed = async (
  sdk: SdkModel,
  options: CallOptions,
  place: FailurePlace,
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
      return { text, finish: finishOf(part.finishReason.unified, place), usage: usageOf(part.usage) };
    }
  }
  throw brokeOff(place);
};

const timedOut = (timeoutMs: number): LlmcError =>
  new LlmcError("timeout", `The model did not answer within ${timeoutMs / 1000} s.`, {
    hint: "Ask for less, or raise mcp.llm.timeout_seconds.",
  });

const cancelled = (reason: unknown): LlmcError =>
  reason instanceof LlmcError ? reason : new LlmcError("cancelled", "The call was cancelled.");

/** One call, from request to answer, within its time and until its caller gives up. */
export const generate = async (
  sdk: SdkModel,
  request: GenerateRequest,
  place: FailurePlace,
): Promise<Outcome> => {
  const { messages, maxOutputTokens, timeoutMs, temperature, signal, onText } = request;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(timedOut(timeoutMs)), timeoutMs);
  const giveUp = () => over.abort(cancelled(signal?.reason));
  if (signal?.aborted) giveUp();
  else signal?.addEventListener("abort", giveUp, { once: true });
  const options: CallOptions = {
    prompt: promptOf(messages),
    maxOutputTokens,
    abortSignal: over.signal,
    ...(temperature === undefined ? {} : { temperature }),
  };
  try {
    over.signal.throwIfAborted();
    const outcome =
      onText === undefined
        ? await generateWhole(sdk, options, place)
        : await generateStreamed(sdk, options, place, onText);
    // A document of another kind, which a library read as an answer with nothing in it.
    if (outcome.text === "" && outcome.finish === "other") throw notUnderstood(place);
    return outcome;
  } catch (thrown) {
    // Whatever an interrupted call throws, the reason is known better here.
    throw over.signal.aborted ? cancelled(over.signal.reason) : translateFailure(thrown, place);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
    // Ends a connection whose answer was not read to its end.
    over.abort();
  }
};
