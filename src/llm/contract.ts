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
  /** Given, the answer is streamed and each piece told as it comes. */
  readonly onText?: ((piece: string) => void) | undefined;
}

/** As the provider counts; undefined where it does not say. */
export interface Usage {
  /** All of them, those that came from or went into a cache included. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
}

/** Why the model stopped. `length`: at the limit, so the text is cut. `filtered`: the provider withheld the rest. */
export type Finish = "stop" | "length" | "filtered" | "other";

export interface Generation {
  readonly text: string;
  readonly finish: Finish;
  readonly usage: Usage;
  /** Undefined: the price or the usage is unknown. */
  readonly costUsd: number | undefined;
}

/** A model that the egress policy allows, ready to be asked. Fails with an `LlmcError`, and is never tried twice. */
export interface Model {
  readonly name: string;
  generate(request: GenerateRequest): Promise<Generation>;
  /** What such a call costs, for whoever has to know before. */
  costOf(usage: Usage): Promise<number | undefined>;
}

export interface Models {
  /** Opens no connection. Refuses names that are malformed, not allowed, or without the key that they need. */
  open(name: string): Promise<Model>;
}
