import type { Usage } from "./contract.ts";
import type { ProviderName } from "./model-name.ts";

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
