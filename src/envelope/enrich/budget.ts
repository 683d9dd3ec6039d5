import type { EnrichLimits } from "./contract.ts";

/** Characters of plain text to a token, on the low side: code and paths have about 3.5. */
const CHARS_PER_TOKEN = 3.2;

/** A cheap linear estimate, for choosing what to show and for texts that would take too long to tokenize. */
const estimateTokens = (text: string): number => {
  let wide = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) wide++;
  return Math.ceil((text.length - wide) / CHARS_PER_TOKEN + wide * 0.9);
};

/** Longer texts are estimated when counts are only compared. */
const MAX_COUNTED_CHARS = 100_000;
/** A tokenizer takes quadratic time on such a run. */
const HARD_RUN = /\S{2000}|\s{2000}/;

export const countTokens = (text: string, limits: EnrichLimits): number =>
  text.length > MAX_COUNTED_CHARS || HARD_RUN.test(text) ? estimateTokens(text) : limits.countTokens(text);

/** Whether it surely fits; exact only where it is close. */
export const fits = (text: string, limits: EnrichLimits): boolean => {
  // A token is at least one byte and, in real text, at least half a character.
  if (text.length * 3 <= limits.maxTokens) return true;
  if (text.length > limits.maxTokens * 12) return false;
  return countTokens(text, limits) <= limits.maxTokens;
};

const takeWithin = (pieces: readonly string[], budget: number): number => {
  let sum = 0;
  let taken = 0;
  for (const piece of pieces) {
    sum += estimateTokens(piece) + 1;
    if (sum > budget) break;
    taken++;
  }
  return taken;
};

/** Rounds of guessing before giving up on a text that no estimate fits. */
const MAX_ROUNDS = 6;

/** How many pieces from the start, joined by line ends, fit into a number of tokens. */
export const countFitting = (pieces: readonly string[], maxTokens: number, limits: EnrichLimits): number => {
  let budget = maxTokens;
  let best = 0;
  for (let round = 0; round < MAX_ROUNDS && budget > 0; round++) {
    const taken = takeWithin(pieces, budget);
    const real = countTokens(pieces.slice(0, taken).join("\n"), limits);
    if (real <= maxTokens) {
      best = Math.max(best, taken);
      if (taken === pieces.length || real >= maxTokens * 0.9 || taken === 0) break;
    }
    // Corrected by how far the estimate was off, rounded down.
    const next = Math.floor((budget * maxTokens * 0.95) / Math.max(1, real));
    if (real <= maxTokens && next <= budget) break;
    budget = next;
  }
  return best;
};

/** The first of several ways to say it that fits, from the most detailed on; the last one if none does. */
export const firstThatFits = (ways: readonly (() => string)[], limits: EnrichLimits): [string, number] => {
  let text = "";
  for (const [index, way] of ways.entries()) {
    text = way();
    if (fits(text, limits)) return [text, index];
  }
  return [text, ways.length - 1];
};
