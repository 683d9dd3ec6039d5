import { LlmcError } from "./error.ts";

const PREFIXES = {
  ollama_chat: "ollama",
  ollama: "ollama",
  openai: "openai",
  anthropic: "anthropic",
  gemini: "google",
} as const;

export type ProviderName = (typeof PREFIXES)[keyof typeof PREFIXES];

/** `PROVIDER/NAME`. The name may contain slashes and becomes part of URLs. */
export const MODEL_NAME =
  /^(?<prefix>ollama_chat|ollama|openai|anthropic|gemini)\/(?<id>(?!.*(?:\.\.|\/\/))[A-Za-z0-9][\w.:/@+-]{0,199})$/;

/** The model that a client offers (MCP sampling); only analyses can use it. */
export const SAMPLING_MODEL = "sampling/client";

/** As messages name them; `ollama` is another spelling. */
export const MODEL_PREFIXES = ["ollama_chat", "openai", "anthropic", "gemini"] as const;

export interface ModelName {
  readonly provider: ProviderName;
  /** The name that the provider uses. */
  readonly id: string;
}

export const parseModelName = (name: string): ModelName => {
  const { prefix, id } = MODEL_NAME.exec(name)?.groups ?? {};
  if (prefix === undefined || id === undefined) {
    throw new LlmcError(
      "invalid_args",
      `The name of the model is invalid: expected ${MODEL_PREFIXES.map((prefix) => `${prefix}/NAME`).join(", ")}.`,
    );
  }
  return { provider: PREFIXES[prefix as keyof typeof PREFIXES], id };
};
