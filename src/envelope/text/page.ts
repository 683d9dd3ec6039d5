import { estimateTokens } from "./token-estimate.ts";

export interface Page {
  readonly text: string;
  readonly truncated: boolean;
}

/** From this share of the budget on, answers get shorter. */
const SHORTER_FROM = 0.8;
const LEAST_TOKENS = 200;
/** With less than this left, an answer says nothing. */
const SPENT_TOKENS = 50;

/** What the next answer may cost: the usual, and less and less when the budget runs low; 0: nothing any more. */
export const pageTokens = (usual: number, budget: number, left: number): number => {
  const low = budget * (1 - SHORTER_FROM);
  if (left < SPENT_TOKENS) return 0;
  return left >= low ? usual : Math.min(usual, Math.max(LEAST_TOKENS, Math.floor((usual * left) / low)));
};

/** As much of the beginning as the tokens allow, at the end of a line where there is one near. */
export const cutToTokens = (text: string, maxTokens: number): Page => {
  if (text.length <= maxTokens && text.length < 1000) return { text, truncated: false };
  const tokens = estimateTokens(text);
  if (tokens <= maxTokens) return { text, truncated: false };
  // Texts are denser in some places than in others: a second look corrects the first.
  let end = Math.floor((text.length * maxTokens) / tokens);
  const real = estimateTokens(text.slice(0, end));
  if (real > maxTokens) end = Math.floor((end * maxTokens) / real);
  const lineEnd = text.lastIndexOf("\n", end) + 1;
  const at = lineEnd > end / 2 ? lineEnd : /[\uD800-\uDBFF]$/.test(text.slice(0, end)) ? end - 1 : end;
  return { text: text.slice(0, at), truncated: true };
};
