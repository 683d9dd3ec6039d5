import { estimateTokens } from "../text/token-estimate.ts";
import type { EnrichLimits } from "./contract.ts";

/** Whether it surely fits; exact only where it is close. */
export const fits = (text: string, limits: EnrichLimits): boolean => {
  // A token is at least one byte and, in real text, at least half a character.
  if (text.length * 3 <= limits.maxTokens) return true;
  if (text.length > limits.maxTokens * 12) return false;
  return estimateTokens(text) <= limits.maxTokens;
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
export const countFitting = (pieces: readonly string[], maxTokens: number): number => {
  let budget = maxTokens;
  let best = 0;
  for (let round = 0; round < MAX_ROUNDS && budget > 0; round++) {
    const taken = takeWithin(pieces, budget);
    const real = estimateTokens(pieces.slice(0, taken).join("\n"));
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
