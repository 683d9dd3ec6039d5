import { estimateTokens } from "./token-estimate.ts";

export interface Page {
  readonly text: string;
  readonly truncated: boolean;
}

/** From this share of the budget on, answers get shorter. */
const SHORTER_FROM = 0.8;
const LEAST_TOKENS = 200;
/** With fewer tokens left than this, the budget counts as spent. */
const SPENT_TOKENS = 50;

/** Maximum tokens of the next answer: fewer when the budget runs low, and 0 when it is spent. */
export const pageTokens = (usual: number, budget: number, left: number): number => {
  const low = budget * (1 - SHORTER_FROM);
  if (left < SPENT_TOKENS) return 0;
  return left >= low ? usual : Math.min(usual, Math.max(LEAST_TOKENS, Math.floor((usual * left) / low)));
};

/** As much of the beginning as the tokens allow, cut at a line end if one is near. */
export const cutToTokens = (text: string, maxTokens: number): Page => {
  if (text.length <= maxTokens && text.length < 1000) return { text, truncated: false };
  const tokens = estimateTokens(text);
  if (tokens <= maxTokens) return { text, truncated: false };
  // Token density varies within a text: a second estimate corrects the first.
  let end = Math.floor((text.length * maxTokens) / tokens);
  const real = estimateTokens(text.slice(0, end));
  if (real > maxTokens) end = Math.floor((end * maxTokens) / real);
  const lineEnd = text.lastIndexOf("\n", end) + 1;
  const at = lineEnd > end / 2 ? lineEnd : /[\uD800-\uDBFF]$/.test(text.slice(0, end)) ? end - 1 : end;
  return { text: text.slice(0, at), truncated: true };
};
