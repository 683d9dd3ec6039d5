import type { AnthropicProvider } from "@ai-sdk/anthropic";
import { EXTRAS, type Extra } from "../base/extras-table.ts";
import type { ProviderName } from "../base/model-name.ts";

/** A model of the AI SDK's provider packages, which only this room knows. */
export type SdkModel = ReturnType<AnthropicProvider["languageModel"]>;

export interface SdkParts {
  /** The model's name at the provider. */
  readonly id: string;
  readonly baseUrl: string;
  readonly key: string | undefined;
  readonly fetch: typeof fetch;
}

export interface Provider {
  /** Prefix of its options: `ollama_url`, `ollama_key_env`. */
  readonly setting: "ollama" | "openai" | "anthropic" | "google";
  needsKey(baseUrl: string): boolean;
  /** The package that has to be installed separately, if there is one. */
  readonly extra?: Extra;
  /** Loads the provider's package, which a server without a model does not need. */
  load(parts: SdkParts): Promise<SdkModel>;
}

const OPENAI_HOST = "api.openai.com";

/** OpenAI's newer models refuse `max_tokens`, but other servers only know that name. */
const renameLimit = ({ max_tokens, ...rest }: Record<string, unknown>): Record<string, unknown> => ({
  ...rest,
  ...(max_tokens === undefined ? {} : { max_completion_tokens: max_tokens }),
});

const loadCompatible = async ({ id, baseUrl, key, fetch: request }: SdkParts): Promise<SdkModel> => {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  return createOpenAICompatible({
    name: "openai",
    baseURL: baseUrl,
    includeUsage: true,
    fetch: request,
    ...(key === undefined ? {} : { apiKey: key }),
    ...(new URL(baseUrl).hostname === OPENAI_HOST ? { transformRequestBody: renameLimit } : {}),
  }).chatModel(id);
};

export const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  ollama: {
    setting: "ollama",
    needsKey: () => false,
    // The URL of Ollama is usually given without the path of its OpenAI-compatible API.
    load: (parts) =>
      loadCompatible({ ...parts, baseUrl: `${parts.baseUrl.replace(/(?:\/v1)?\/*$/, "")}/v1` }),
  },
  openai: {
    setting: "openai",
    needsKey: (baseUrl) => new URL(baseUrl).hostname === OPENAI_HOST,
    load: loadCompatible,
  },
  anthropic: {
    setting: "anthropic",
    extra: EXTRAS.anthropic,
    needsKey: () => true,
    load: async ({ id, baseUrl, key = "", fetch: request }) => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ baseURL: baseUrl, apiKey: key, fetch: request }).languageModel(id);
    },
  },
  google: {
    setting: "google",
    extra: EXTRAS.google,
    needsKey: () => true,
    load: async ({ id, baseUrl, key = "", fetch: request }) => {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ baseURL: baseUrl, apiKey: key, fetch: request }).languageModel(id);
    },
  },
};
