import { LlmcError } from "../base/error.ts";
import { missingExtra } from "../base/extras-table.ts";
import { createOutbound } from "../host/net/outbound.ts";
import { decideEgress, isFreeOfCharge } from "../policy/egress.ts";
import type { Models, Usage } from "./contract.ts";
import { generate } from "./generate.ts";
import { type ProviderName, parseModelName } from "./model-name.ts";
import { PROVIDERS, type Provider } from "./providers.ts";

interface Priced {
  readonly provider: ProviderName;
  readonly id: string;
  readonly baseUrl: string;
  /** Runs on this machine. */
  readonly isFree: boolean;
}

/** Other providers are identified by their URL. */
const PRICE_LISTS: Partial<Readonly<Record<ProviderName, string>>> = {
  anthropic: "anthropic",
  google: "google",
};

/**
 * The price of a call in US dollars, from the list in the package `@pydantic/genai-prices`, which is never updated over
 * the network. Undefined if the list does not have the model or the usage is unknown.
 */
export const priceOf = async (model: Priced, usage: Usage): Promise<number | undefined> => {
  if (model.isFree) return 0;
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const { calcPrice } = await import("@pydantic/genai-prices");
  const providerId = PRICE_LISTS[model.provider];
  try {
    const price = calcPrice(
      {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        ...(cacheReadTokens > 0 ? { cache_read_tokens: cacheReadTokens } : {}),
        ...(cacheWriteTokens > 0 ? { cache_write_tokens: cacheWriteTokens } : {}),
      },
      model.id,
      providerId === undefined ? { providerApiUrl: model.baseUrl } : { providerId },
    );
    return price?.total_price;
  } catch {
    // Contradictory counts, such as more cached tokens than tokens: no price is better than a wrong one.
    return undefined;
  }
};

/** The configuration of models, which may change at any time. */
export interface ModelSettings {
  readonly profile: "restricted" | "unrestricted";
  readonly allowedModelPrefixes: readonly string[];
  readonly providers: Readonly<
    Record<Provider["setting"], { readonly url: string; readonly keyVariable: string }>
  >;
}

interface ModelsParts {
  readonly settings: () => ModelSettings;
  /** A variable of the environment. */
  readonly secret: (variable: string) => string | undefined;
}

/** Far more than any answer in text; an endless response is cut off here. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

const missingKey = (model: string, variable: string, setting: string): LlmcError =>
  new LlmcError("unavailable", `${model} needs an API key, which is not configured.`, {
    hint:
      variable === ""
        ? `The operator has to name the variable that holds it in mcp.llm.${setting}_key_env.`
        : `The operator has to set ${variable} in the environment of the server and to restart it.`,
  });

/** The library's error for a key that cannot be a header would quote the key. */
const checkKey = (key: string, variable: string): void => {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  throw new LlmcError("unavailable", `The key in ${variable} has characters that are not allowed in a key.`, {
    hint: "The operator has to remove spaces, line breaks or quotes around it.",
  });
};

/** Where the text for a model goes, and what the configuration says to that. */
export const egressOf = (name: string, { profile, allowedModelPrefixes, providers }: ModelSettings) => {
  const { provider, id } = parseModelName(name);
  const { url, keyVariable } = providers[PROVIDERS[provider].setting];
  const decision = decideEgress({ profile, allowedModelPrefixes, model: name, baseUrl: url });
  const refusal = decision.allowed
    ? undefined
    : new LlmcError("egress_denied", decision.reason, { hint: decision.hint });
  return {
    provider,
    id,
    url,
    keyVariable,
    decision,
    request: { host: URL.parse(url)?.hostname ?? "", refusal },
  };
};

/** Opens models by name, after checking the egress policy and the key. */
export const createModels = ({ settings, secret }: ModelsParts): Models => ({
  open: async (name, permit) => {
    const { provider: providerName, id, url, keyVariable, decision, request } = egressOf(name, settings());
    permit(request);
    if (!decision.allowed) throw request.refusal;
    const provider = PROVIDERS[providerName];
    const key = keyVariable === "" ? undefined : secret(keyVariable) || undefined;
    if (key === undefined && provider.needsKey(url)) throw missingKey(name, keyVariable, provider.setting);
    if (key !== undefined) checkKey(key, keyVariable);

    const { origin } = new URL(url);
    const context = { model: name, urlKey: `${provider.setting}_url`, keyVariable };
    const send = createOutbound({
      origin,
      loopbackOnly: decision.loopbackOnly,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    const priced = {
      provider: providerName,
      id,
      baseUrl: url,
      isFree: decision.loopbackOnly || isFreeOfCharge(name, url),
    };
    const sdk = await provider.load({ id, baseUrl: url, key, fetch: send }).catch((cause: unknown) => {
      if (provider.extra !== undefined) throw missingExtra(provider.extra, cause);
      throw new LlmcError("unavailable", `The package that ${name} needs could not be loaded.`, {
        hint: "Check that the installation is complete.",
        cause,
      });
    });
    return {
      name,
      generate: async (request) => {
        const outcome = await generate(sdk, request, context);
        return { ...outcome, costUsd: await priceOf(priced, outcome.usage) };
      },
    };
  },
});
