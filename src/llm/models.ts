import { LlmcError } from "../base/error.ts";
import { missingExtra } from "../base/extras-table.ts";
import { parseModelName } from "../base/model-name.ts";
import { createOutbound } from "../host/net/outbound.ts";
import { decideEgress, isFreeOfCharge } from "../policy/egress.ts";
import type { Models } from "./contract.ts";
import { generate } from "./generate.ts";
import { ownPriceOf, type Priced, priceOf, worstPriceOf } from "./prices.ts";
import { PROVIDERS, type Provider } from "./providers.ts";

/** The configuration of models, which may change at any time. */
export interface ModelSettings {
  readonly profile: "restricted" | "unrestricted";
  readonly isAirGapped?: boolean | undefined;
  readonly allowedModelPrefixes: readonly string[];
  readonly providers: Readonly<
    Record<Provider["setting"], { readonly url: string; readonly keyVariable: string }>
  >;
  /** The operator's own prices, as `MODEL=INPUT/OUTPUT`. */
  readonly prices?: readonly string[];
  /** Hosts of the operator's own network that text may go to in the restricted profile. */
  readonly privateHosts?: readonly string[];
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

/** Where the text for a model goes, and whether the configuration allows that. */
export const egressOf = (name: string, { providers, privateHosts = [], ...settings }: ModelSettings) => {
  const { provider, id } = parseModelName(name);
  const { url, keyVariable } = providers[PROVIDERS[provider].setting];
  const decision = decideEgress({ ...settings, privateHosts, model: name, baseUrl: url });
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

/** What the price of a model depends on; one in the operator's own network is free unless they name a price. */
export const pricedOf = (name: string, settings: ModelSettings): Priced => {
  const { provider, id, url, decision } = egressOf(name, settings);
  return {
    provider,
    id,
    baseUrl: url,
    isFree: (decision.allowed && decision.reach !== "anywhere") || isFreeOfCharge(name, url),
    own: ownPriceOf(name, settings.prices ?? []),
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
      reach: decision.reach,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    const priced = pricedOf(name, settings());
    const sdk = await provider.load({ id, baseUrl: url, key, fetch: send }).catch((cause: unknown) => {
      if (provider.extra !== undefined) throw missingExtra(provider.extra, cause);
      throw new LlmcError("unavailable", `The package that ${name} needs could not be loaded.`, {
        hint: "Check that the installation is complete.",
        cause,
      });
    });
    return {
      name,
      worstCostUsd: (inputTokens, outputTokens) => worstPriceOf(priced, inputTokens, outputTokens),
      generate: async (request) => {
        const outcome = await generate(sdk, request, context);
        const { usage } = outcome;
        const costUsd = await priceOf(priced, usage);
        const uncachedUsd = await priceOf(priced, { ...usage, cacheReadTokens: 0, cacheWriteTokens: 0 });
        return { ...outcome, costUsd, uncachedUsd };
      },
    };
  },
});
