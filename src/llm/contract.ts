import type { PermitHost } from "../policy/permit.ts";

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly text: string;
}

export interface GenerateRequest {
  readonly messages: readonly Message[];
  readonly maxOutputTokens: number;
  /** For the whole call. */
  readonly timeoutMs: number;
  readonly temperature?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A longer conversation with the same beginning follows, which providers cache if they are asked to. */
  readonly cachePrompt?: boolean | undefined;
  /** If given, the answer is streamed, and it receives each piece. */
  readonly onText?: ((piece: string) => void) | undefined;
}

/** As the provider counts; undefined if it does not report it. */
export interface Usage {
  /** Includes those that were read from or written to a cache. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
}

/** Why the model stopped. `length`: at the token limit, so the text is truncated. `filtered`: the provider withheld the rest. */
export type Finish = "stop" | "length" | "filtered" | "other";

export interface Generation {
  readonly text: string;
  readonly finish: Finish;
  readonly usage: Usage;
  /** Undefined: the price or the usage is unknown. */
  readonly costUsd: number | undefined;
  /** Answered from our own cache of responses: nothing was sent. */
  readonly isCached?: boolean | undefined;
  /** What it would have cost without the provider's prompt cache. */
  readonly uncachedUsd?: number | undefined;
}

/** A model that the egress policy allows. Fails with an `LlmcError`; calls are never retried. */
export interface Model {
  readonly name: string;
  /** The most that a call of this size can cost, in US dollars; undefined if the price is unknown. */
  worstCostUsd(inputTokens: number, outputTokens: number): Promise<number | undefined>;
  generate(request: GenerateRequest): Promise<Generation>;
}

export interface Models {
  /**
   * Opens no connection. Refuses names that are malformed, not allowed, or need a key that is missing. `permit` is asked
   * about the host first, and throws where policy does not let text go there.
   */
  open(name: string, permit: PermitHost): Promise<Model>;
}
