import type { ProviderName } from "../base/model-name.ts";
import type { Usage } from "./contract.ts";
import { OWN_PRICE } from "./options.ts";

export interface Priced {
  readonly provider: ProviderName;
  readonly id: string;
  readonly baseUrl: string;
  /** Runs on the operator's own machine, or in their own network. */
  readonly isFree: boolean;
  /** The operator's own price, which comes before any list. */
  readonly own?: OwnPrice | undefined;
}

/** US dollars for a million tokens. */
export interface OwnPrice {
  readonly input: number;
  readonly output: number;
}

/** The operator's price of a model; of two for the same model, the last one. */
export const ownPriceOf = (model: string, prices: readonly string[]): OwnPrice | undefined =>
  prices
    .map((text) => OWN_PRICE.exec(text)?.groups)
    .filter((groups) => groups?.["model"] === model)
    .map((groups) => ({ input: Number(groups?.["input"]), output: Number(groups?.["output"]) }))
    .at(-1);

const MILLION = 1_000_000;
/** Input that Anthropic writes to its prompt cache costs this much more; nobody else who is asked for it charges more. */
const CACHE_WRITE_SURCHARGE = 0.25;

/** Other providers are identified by their URL. */
const PRICE_LISTS: Partial<Readonly<Record<ProviderName, string>>> = {
  anthropic: "anthropic",
  google: "google",
};

/**
 * The price of a call in US dollars: the operator's, or that of the list in the package `@pydantic/genai-prices`, which is
 * never updated over the network. Undefined if neither has the model, or if the usage is unknown.
 */
export const priceOf = async (model: Priced, usage: Usage): Promise<number | undefined> => {
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  if (model.own !== undefined) {
    if (inputTokens === undefined || outputTokens === undefined) return undefined;
    // The operator's price does not mention caches: writing is charged extra, and reading is charged in full.
    const billedInput = inputTokens + cacheWriteTokens * CACHE_WRITE_SURCHARGE;
    return (billedInput * model.own.input + outputTokens * model.own.output) / MILLION;
  }
  if (model.isFree) return 0;
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

/**
 * The most that a call of this size can cost: writing the whole input to the provider's cache can be dearer than sending
 * it plainly. Undefined if the price is unknown.
 */
export const worstPriceOf = async (
  model: Priced,
  inputTokens: number,
  outputTokens: number,
): Promise<number | undefined> => {
  const plain = await priceOf(model, { inputTokens, outputTokens });
  if (plain === undefined) return undefined;
  const written = await priceOf(model, { inputTokens, outputTokens, cacheWriteTokens: inputTokens });
  return Math.max(plain, written ?? 0);
};
