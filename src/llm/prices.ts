import type { Usage } from "./contract.ts";
import type { ProviderName } from "./model-name.ts";

interface Priced {
  readonly provider: ProviderName;
  readonly id: string;
  readonly baseUrl: string;
  /** Runs on this machine, where nobody sends a bill. */
  readonly isFree: boolean;
}

/** Others are known by their address, if they are. */
const PRICE_LISTS: Partial<Readonly<Record<ProviderName, string>>> = {
  anthropic: "anthropic",
  google: "google",
};

/**
 * US dollars of a call by the price list that is part of the package `@pydantic/genai-prices`; it is never fetched anew.
 * Undefined where the model is not on it, or the usage is not known.
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
    // Counts that contradict each other, such as more cached tokens than tokens: no price is better than a wrong one.
    return undefined;
  }
};
