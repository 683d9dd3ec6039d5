import type { RankedChunk } from "./chunk-index.ts";
import type { Snippet } from "./search-request.ts";

/** A part of a file as it is on the disk now. */
export interface SnippetText {
  readonly text: string;
  readonly startLine: number;
  readonly endLine: number;
}

export interface SnippetBounds {
  readonly k: number;
  readonly budgetTokens: number;
}

/** A snippet is not cut to fewer tokens: it would show nothing worth reading. */
const MIN_CUT_TOKENS = 24;

/** Of an equal part of the budget, the share that is kept for each snippet that is still to come. */
const KEPT_SHARE = 0.5;

/** As many whole lines as fit. A token may span a line end, so the cut text itself is counted. */
const cutToFit = (
  text: string,
  budgetTokens: number,
  countTokens: (text: string) => number,
): { readonly text: string; readonly lines: number } | undefined => {
  const lines = text.split("\n");
  let fits = 0;
  let tooMany = lines.length;
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    if (countTokens(lines.slice(0, middle).join("\n")) <= budgetTokens) fits = middle;
    else tooMany = middle;
  }
  return fits === 0 ? undefined : { text: lines.slice(0, fits).join("\n"), lines: fits };
};

/**
 * The best chunks within the budget. One that would leave too little for those after it is cut at a line: three places to
 * look at are worth more than one of them in full. A chunk that is gone from the disk, for which `textOf` returns
 * undefined, is skipped.
 */
export const selectSnippets = (
  ranked: readonly RankedChunk[],
  { k, budgetTokens }: SnippetBounds,
  textOf: (chunk: RankedChunk) => SnippetText | undefined,
  countTokens: (text: string) => number,
): readonly Snippet[] => {
  const snippets: Snippet[] = [];
  const kept = (KEPT_SHARE * budgetTokens) / k;
  let left = budgetTokens;
  for (const [at, chunk] of ranked.entries()) {
    if (snippets.length >= k || left <= 0) break;
    const room = left - kept * Math.min(k - snippets.length - 1, ranked.length - at - 1);
    const found = textOf(chunk);
    if (found === undefined) continue;
    const { path, score, language, name, relevance, reasons, certainty } = chunk;
    const common = {
      path,
      startLine: found.startLine,
      score,
      relevance,
      language,
      name,
      ...(reasons === undefined ? {} : { reasons }),
      ...(certainty === undefined ? {} : { certainty }),
    };
    const cost = countTokens(found.text);
    if (cost <= room) {
      snippets.push({ ...common, endLine: found.endLine, text: found.text, cut: false });
      left -= cost;
      continue;
    }
    if (snippets.length > 0 && room < MIN_CUT_TOKENS) break;
    const part = cutToFit(found.text, room, countTokens);
    // Not even its first line fits (minified text, data): the next one may.
    if (part === undefined) continue;
    snippets.push({ ...common, endLine: found.startLine + part.lines - 1, text: part.text, cut: true });
    left -= countTokens(part.text);
  }
  return snippets;
};
