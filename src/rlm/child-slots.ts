import { LlmcError } from "../base/error.ts";
import type { AnalysisSlots } from "../sandbox/slots.ts";

/** Of one depth; each is a process. */
const MAX_AT_ONCE = 4;
const MAX_WAITING = 1000;

const tooMany = (): LlmcError =>
  new LlmcError("busy", `More than ${MAX_WAITING} analyses are waiting.`, { hint: "Start fewer at once." });

interface Waiting {
  readonly chars: number;
  readonly enter: () => void;
}

interface ChildSlotsParts {
  /** Of the texts of all that run at once: each has a copy of its own. One alone may have a longer one. */
  readonly maxChars: number;
  readonly slots: Pick<AnalysisSlots, "tryTake" | "give">;
}

/**
 * The analyses of one depth that run at once, in the order in which they were started. The first of them runs in the slot of
 * the session, which waits for it; each further one needs a slot that is free, and room for its text. So they can wait
 * for each other, but never for one that waits for them: each depth has slots of its own.
 */
export class ChildSlots {
  readonly #parts: ChildSlotsParts;
  readonly #waiting = new Set<Waiting>();
  #running = 0;
  #chars = 0;

  constructor(parts: ChildSlotsParts) {
    this.#parts = parts;
  }

  async run<T>(chars: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#waiting.size > 0 || !this.#tryEnter(chars)) await this.#wait(chars, signal);
    try {
      return await work();
    } finally {
      this.#leave(chars);
    }
  }

  #tryEnter(chars: number): boolean {
    const { maxChars, slots } = this.#parts;
    if (this.#running > 0) {
      const hasRoom = this.#running < MAX_AT_ONCE && this.#chars + chars <= maxChars;
      if (!hasRoom || !slots.tryTake()) return false;
    }
    this.#running++;
    this.#chars += chars;
    return true;
  }

  #leave(chars: number): void {
    this.#running--;
    this.#chars -= chars;
    if (this.#running > 0) this.#parts.slots.give();
    this.#admit();
  }

  #admit(): void {
    for (const one of this.#waiting) {
      if (!this.#tryEnter(one.chars)) return;
      this.#waiting.delete(one);
      one.enter();
    }
  }

  #wait(chars: number, signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING) throw tooMany();
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(one);
        reject(signal.reason);
        // It may have been too long for what is free, and those behind it are not.
        this.#admit();
      };
      const one: Waiting = {
        chars,
        enter: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(one);
    });
  }
}
