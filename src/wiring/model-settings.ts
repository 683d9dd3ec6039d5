import type { Loaded } from "../config/load.ts";
import type { ModelSettings } from "../llm/models.ts";

/** The configuration of models, as their room takes it. */
export const modelSettingsOf = ({ rlm, llm, security }: Loaded["config"]["mcp"]): ModelSettings => ({
  profile: rlm.profile,
  isAirGapped: security.air_gapped_mode,
  allowedModelPrefixes: rlm.allowed_model_prefixes,
  privateHosts: rlm.private_hosts,
  prices: llm.prices,
  providers: {
    ollama: { url: llm.ollama_url, keyVariable: llm.ollama_key_env },
    openai: { url: llm.openai_url, keyVariable: llm.openai_key_env },
    anthropic: { url: llm.anthropic_url, keyVariable: llm.anthropic_key_env },
    google: { url: llm.google_url, keyVariable: llm.google_key_env },
  },
});
