import { LlmcError } from "../base/error.ts";
import type { Generation, Usage } from "./contract.ts";

/** Of a whole session, whatever calls what in it. */
export interface BudgetLimits {
  readonly usd: number;
  /** Input and output together. */
  readonly tokens: number;
  /** Calls that are sent, those that fail included. */
  readonly calls: number;
  /** Calls that are under way at once; others wait in order. */
  readonly parallel: number;
}

/** The most that a call can take. */
export interface WorstCase {
  /** Undefined: the price is unknown, and the operator lets such calls be made. */
  readonly costUsd: number | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What one call was granted. It has to be ended in exactly one of these ways; a second one does nothing. */
export interface Reservation {
  /** The provider answered. What it does not say counts as the worst case. */
  settle(generation: Pick<Generation, "usage" | "costUsd" | "uncachedUsd" | "isCached">): void;
  /** The call failed, and may have been paid for: the worst case counts. */
  fail(): void;
  /** The call failed before the provider took it: nothing was spent. */
  release(): void;
}

export interface DepthSpending {
  readonly calls: number;
  readonly failedCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly costUsd: number;
}

export interface Spending extends DepthSpending {
  readonly budgetUsd: number;
  /** Reserved for calls that are under way. */
  readonly reservedUsd: number;
  /** What the prompt caches of the providers have saved, less what writing to them cost; never below nothing. */
  readonly cacheSavedUsd: number;
  /** Calls that our own cache of responses answered. */
  readonly cachedCalls: number;
  /** Calls whose price is unknown: they are not in `costUsd`. */
  readonly unpricedCalls: number;
  /** Of the session itself first, then of what it called, and so on. */
  readonly byDepth: readonly DepthSpending[];
}

/**
 * Money is counted in whole millionths of a millionth of a dollar, always rounded up: sums of fractions would drift. A cap
 * of up to 9,000 dollars fits into a number exactly.
 */
const PICO = 1e12;
const toPico = (usd: number): number => Math.ceil(usd * PICO);
const toUsd = (pico: number): number => pico / PICO;

/** For messages: cents, or more digits where there is less. */
const showUsd = (usd: number): string => `$${usd >= 1 || usd === 0 ? usd.toFixed(2) : usd.toPrecision(2)}`;

interface Counts {
  calls: number;
  failedCalls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  pico: number;
}

const noCounts = (): Counts => ({
  calls: 0,
  failedCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  pico: 0,
});

const spendingOf = ({ pico, ...counts }: Counts): DepthSpending => ({ ...counts, costUsd: toUsd(pico) });

interface Waiting {
  readonly pico: number;
  readonly tokens: number;
  readonly admit: () => void;
  readonly refuse: (error: LlmcError) => void;
}

const exceeded = (limit: string, message: string, hint: string): LlmcError =>
  new LlmcError("budget_exceeded", message, { hint, details: { limit } });

/**
 * The one budget of a session. Each call reserves the most that it can take before it is sent, and is settled with what it
 * took. One that does not fit now, and would if others took less than they reserved, waits for them; one that cannot
 * fit is refused. So the sum of what was spent and what is reserved never passes the cap.
 */
export class Budget {
  readonly #limits: BudgetLimits;
  readonly #cap: number;
  readonly #byDepth: Counts[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #reservations = new Set<Reservation>();
  readonly #total = noCounts();
  #reservedPico = 0;
  #reservedTokens = 0;
  #underWay = 0;
  #savedPico = 0;
  #cached = 0;
  #unpriced = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    // Rounded down: the cap is the operator's word.
    this.#cap = Math.floor(limits.usd * PICO);
  }

  /** Waits until the call may be sent; rejects with `budget_exceeded` if it never may. */
  async reserve(worst: WorstCase, depth: number, signal: AbortSignal): Promise<Reservation> {
    signal.throwIfAborted();
    const pico = toPico(worst.costUsd ?? 0);
    const tokens = worst.inputTokens + worst.outputTokens;
    await this.#wait(pico, tokens, signal);
    return this.#open(worst, pico, depth);
  }

  /** Throws `budget_exceeded` where no further call, or none that may take so many tokens, can be sent any more. */
  refuseIfSpent(tokens = 0): void {
    const refusal = this.#refusalOf({ pico: 0, tokens });
    if (refusal !== undefined) throw refusal;
  }

  spending(): Spending {
    return {
      ...spendingOf(this.#total),
      budgetUsd: this.#limits.usd,
      reservedUsd: toUsd(this.#reservedPico),
      cacheSavedUsd: toUsd(Math.max(0, this.#savedPico)),
      cachedCalls: this.#cached,
      unpricedCalls: this.#unpriced,
      byDepth: Array.from(this.#byDepth, (counts) => spendingOf(counts ?? noCounts())),
    };
  }

  /** Counts every call that is still open as failed, at its worst case. */
  failOpen(): void {
    for (const { fail } of this.#reservations) fail();
  }

  #wait(pico: number, tokens: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        const at = this.#waiting.indexOf(one);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal.reason);
        this.#admit();
      };
      const one: Waiting = {
        pico,
        tokens,
        admit: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
        refuse: (error) => {
          signal.removeEventListener("abort", leave);
          reject(error);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(one);
      this.#admit();
    });
  }

  /** Lets calls go in the order in which they came. */
  #admit(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const refusal = this.#refusalOf(first);
      if (refusal !== undefined) {
        this.#waiting.shift();
        first.refuse(refusal);
        continue;
      }
      if (!this.#fitsNow(first)) return;
      this.#waiting.shift();
      this.#reservedPico += first.pico;
      this.#reservedTokens += first.tokens;
      this.#underWay++;
      this.#total.calls++;
      first.admit();
    }
  }

  /** What keeps a call from ever being made, even if everything that is under way cost nothing. */
  #refusalOf({ pico, tokens }: Pick<Waiting, "pico" | "tokens">): LlmcError | undefined {
    const { usd, tokens: maxTokens, calls } = this.#limits;
    const { pico: spent, inputTokens, outputTokens } = this.#total;
    if (this.#total.calls >= calls) {
      return exceeded("max_calls", `The analysis has made ${calls} model calls.`, "Ask for less.");
    }
    if (spent + pico > this.#cap) {
      return exceeded(
        "budget_usd",
        `The next model call could cost ${showUsd(toUsd(pico))}; ${showUsd(toUsd(Math.max(0, this.#cap - spent)))} of ${showUsd(usd)} are left.`,
        "Raise budget_usd, or ask for less.",
      );
    }
    const spentTokens = inputTokens + outputTokens;
    if (spentTokens + tokens > maxTokens) {
      return exceeded(
        "max_tokens",
        `The next model call could take ${tokens} tokens; ${Math.max(0, maxTokens - spentTokens)} of ${maxTokens} are left.`,
        "Ask for less; the operator's limit is mcp.rlm.max_tokens.",
      );
    }
    return undefined;
  }

  #fitsNow({ pico, tokens }: Waiting): boolean {
    const { pico: spent, inputTokens, outputTokens } = this.#total;
    return (
      this.#underWay < this.#limits.parallel &&
      spent + this.#reservedPico + pico <= this.#cap &&
      inputTokens + outputTokens + this.#reservedTokens + tokens <= this.#limits.tokens
    );
  }

  #open(worst: WorstCase, reservedPico: number, depth: number): Reservation {
    this.#byDepth[depth] ??= noCounts();
    const counters = [this.#total, this.#byDepth[depth]];
    // The total was counted when the call was admitted, so that no other one takes its turn meanwhile.
    this.#byDepth[depth].calls++;
    if (worst.costUsd === undefined) this.#unpriced++;
    const close = (pico: number, { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0 }: Usage): void => {
      for (const counts of counters) {
        counts.pico += pico;
        counts.inputTokens += inputTokens;
        counts.outputTokens += outputTokens;
        counts.cacheReadTokens += cacheReadTokens;
      }
      this.#reservedPico -= reservedPico;
      this.#reservedTokens -= worst.inputTokens + worst.outputTokens;
      this.#underWay--;
      this.#admit();
    };
    const once = (work: () => void) => (): void => {
      if (!this.#reservations.delete(reservation)) return;
      work();
    };
    const failed = (pico: number, usage: Usage): void => {
      for (const counts of counters) counts.failedCalls++;
      close(pico, usage);
    };
    const reservation: Reservation = {
      settle: (generation) =>
        once(() => {
          const { usage, costUsd, uncachedUsd = costUsd } = generation;
          if (generation.isCached === true) this.#cached++;
          const pico = costUsd === undefined ? reservedPico : toPico(costUsd);
          if (costUsd !== undefined && uncachedUsd !== undefined)
            this.#savedPico += toPico(uncachedUsd) - pico;
          close(pico, {
            ...usage,
            inputTokens: usage.inputTokens ?? worst.inputTokens,
            outputTokens: usage.outputTokens ?? worst.outputTokens,
          });
        })(),
      fail: once(() => failed(reservedPico, worst)),
      release: once(() => failed(0, { inputTokens: 0, outputTokens: 0 })),
    };
    this.#reservations.add(reservation);
    return reservation;
  }
}
