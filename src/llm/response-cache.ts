import type { Generation, Model } from "./contract.ts";
import { requestKey } from "./request-key.ts";

interface Kept {
  readonly generation: Generation;
  readonly keptAt: number;
}

const MAX_ENTRIES = 2000;
/** Of the answers together. */
const MAX_CHARS = 16 * 1024 * 1024;
/** Their time is counted in minutes, too. */
const CHECK_MS = 60_000;

/**
 * Answers of models, for requests that are made again: in memory, so that no text reaches the disk, and for each owner apart,
 * so that nobody learns what others asked.
 */
export class ResponseCache {
  readonly #entries = new Map<string, Kept>();
  readonly #now: () => number;
  readonly #maxAgeMs: () => number;
  readonly #checkMs: number;
  #chars = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The age is asked for each time, because the configuration can change; 0: nothing is kept. */
  constructor(now: () => number, maxAgeMs: () => number, checkMs = CHECK_MS) {
    this.#now = now;
    this.#maxAgeMs = maxAgeMs;
    this.#checkMs = checkMs;
  }

  /** Of all answers that are kept. */
  get chars(): number {
    return this.#chars;
  }

  /** The same model; what it answered this owner within the time is given again, at no cost. */
  wrap(model: Model, owner: string): Model {
    this.#forgetOld();
    if (this.#maxAgeMs() <= 0) return model;
    return {
      ...model,
      generate: async (request) => {
        request.signal?.throwIfAborted();
        this.#forgetOld();
        const key = `${owner} ${requestKey(model.name, request)}`;
        const known = this.#entries.get(key);
        if (known !== undefined) {
          const usage = { inputTokens: 0, outputTokens: 0 };
          return { ...known.generation, usage, costUsd: 0, uncachedUsd: 0, isCached: true };
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
    // An answer is not kept longer than its time because nobody asks again.
    this.#timer ??= setInterval(() => this.#forgetOld(), this.#checkMs).unref();
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#chars <= MAX_CHARS) return;
      this.#forget(oldest);
    }
  }

  /** They are in the order in which they were kept. */
  #forgetOld(): void {
    const maxAgeMs = this.#maxAgeMs();
    for (const [key, { keptAt }] of this.#entries) {
      if (maxAgeMs > 0 && this.#now() - keptAt <= maxAgeMs) return;
      this.#forget(key);
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #forget(key: string): void {
    this.#chars -= this.#entries.get(key)?.generation.text.length ?? 0;
    this.#entries.delete(key);
  }
}
