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
}

/** A model that the egress policy allows. Fails with an `LlmcError`; calls are never retried. */
export interface Model {
  readonly name: string;
  generate(request: GenerateRequest): Promise<Generation>;
}

export interface Models {
  /**
   * Opens no connection. Refuses names that are malformed, not allowed, or need a key that is missing. `permit` is asked
   * about the host first, and throws where policy does not let text go there.
   */
  open(name: string, permit: PermitHost): Promise<Model>;
}
