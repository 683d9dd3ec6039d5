import { LlmcError } from "../base/error.ts";
import { isRecord } from "../base/is-record.ts";
import { SAMPLING_MODEL } from "../base/model-name.ts";
import type { GenerateRequest, Generation, Model } from "../llm/contract.ts";

/** What the client is asked, in the protocol's words. */
export interface SamplingQuestion {
  readonly kind: "sampling";
  readonly request: Readonly<Record<string, unknown>>;
}

export type SamplingQuestions = Readonly<Record<string, SamplingQuestion>>;

interface Pending {
  readonly question: SamplingQuestion;
  readonly settle: (answer: unknown) => void;
}

const questionOf = ({ messages, maxOutputTokens }: GenerateRequest): SamplingQuestion => {
  const system = messages.filter(({ role }) => role === "system").map(({ text }) => text);
  return {
    kind: "sampling",
    request: {
      ...(system.length === 0 ? {} : { systemPrompt: system.join("\n\n") }),
      messages: messages
        .filter(({ role }) => role !== "system")
        .map(({ role, text }) => ({ role, content: { type: "text", text } })),
      maxTokens: maxOutputTokens,
    },
  };
};

const declined = (): LlmcError =>
  new LlmcError("provider_error", "The client did not let its model answer.", {
    hint: "Its user may have declined; try again, or configure another model.",
    retryable: false,
  });

/** The client's answer is as untrusted as a provider's. */
const readAnswer = (answer: unknown): Generation => {
  const content = isRecord(answer) ? [answer["content"]].flat() : [];
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && part["type"] === "text" && typeof part["text"] === "string" ? [part["text"]] : [],
  );
  if (texts.length === 0) throw declined();
  const isCut = isRecord(answer) && answer["stopReason"] === "maxTokens";
  // Clients do not say what it took: the worst case counts.
  return {
    text: texts.join(""),
    finish: isCut ? "length" : "stop",
    usage: { inputTokens: undefined, outputTokens: undefined },
    costUsd: undefined,
  };
};

/** Questions of one batch come within this time, and travel together. */
const TOGETHER_MS = 20;

/** The client as a model: its questions wait until somebody carries them there and brings the answers back. */
export class SamplingClient {
  readonly #pending = new Map<string, Pending>();
  #asked = 0;
  #wake = (): void => {};

  model(worstCostUsd: Model["worstCostUsd"]): Model {
    return {
      name: SAMPLING_MODEL,
      worstCostUsd,
      generate: (request) =>
        new Promise((resolve, reject) => {
          const key = `model-${++this.#asked}`;
          const end = (work: () => void): void => {
            clearTimeout(timer);
            request.signal?.removeEventListener("abort", stop);
            this.#pending.delete(key);
            work();
          };
          const stop = (): void => end(() => reject(request.signal?.reason));
          const late = (): void =>
            end(() => reject(new LlmcError("timeout", "The client did not answer in time.")));
          const timer = setTimeout(late, request.timeoutMs);
          request.signal?.addEventListener("abort", stop, { once: true });
          this.#pending.set(key, {
            question: questionOf(request),
            settle: (answer) =>
              end(() => {
                try {
                  resolve(readAnswer(answer));
                } catch (thrown) {
                  reject(thrown);
                }
              }),
          });
          this.#wake();
        }),
    };
  }

  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, answer] of Object.entries(answers)) this.#pending.get(key)?.settle(answer);
  }

  /** Resolves with all open questions as soon as there is one, and those that are asked along with it. */
  async nextQuestions(): Promise<SamplingQuestions> {
    do {
      if (this.#pending.size === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      await new Promise((resolve) => setTimeout(resolve, TOGETHER_MS));
      // Those that were there may have been given up in the meantime.
    } while (this.#pending.size === 0);
    return Object.fromEntries([...this.#pending].map(([key, { question }]) => [key, question]));
  }
}
