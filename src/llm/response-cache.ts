import type { Generation, Model } from "./contract.ts";
import { requestKey } from "./request-key.ts";

interface Kept {
  readonly generation: Generation;
  readonly keptAt: number;
}

const MAX_ENTRIES = 2000;
/** Of the answers together. */
const MAX_CHARS = 16 * 1024 * 1024;

/**
 * Answers of models, for requests that are made again: in memory, so that no text reaches the disk, and for each owner apart,
 * so that nobody learns what others asked.
 */
export class ResponseCache {
  readonly #entries = new Map<string, Kept>();
  readonly #now: () => number;
  #chars = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The same model; what it answered this owner within the time is given again, at no cost. */
  wrap(model: Model, owner: string, maxAgeMs: number): Model {
    if (maxAgeMs <= 0) return model;
    return {
      ...model,
      generate: async (request) => {
        request.signal?.throwIfAborted();
        const key = `${owner} ${requestKey(model.name, request)}`;
        const known = this.#entries.get(key);
        if (known !== undefined && this.#now() - known.keptAt <= maxAgeMs) {
          const usage = { inputTokens: 0, outputTokens: 0 };
          return { ...known.generation, usage, costUsd: 0, uncachedUsd: 0, isKept: true };
        }
        const generation = await model.generate(request);
        // What was cut off or withheld may come out whole the next time.
        if (generation.finish === "stop" && generation.text !== "") this.#keep(key, generation);
        return generation;
      },
    };
  }

  #keep(key: string, generation: Generation): void {
    this.#forget(key);
    this.#entries.set(key, { generation, keptAt: this.#now() });
    this.#chars += generation.text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#chars <= MAX_CHARS) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#chars -= this.#entries.get(key)?.generation.text.length ?? 0;
    this.#entries.delete(key);
  }
}
