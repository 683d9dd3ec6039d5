import { memoize } from "../collections/memoize.ts";
import { runsOf } from "./runs.ts";
import { stem } from "./stem.ts";
import { isAscii, splitSubtokens } from "./subtokens.ts";

const MAX_CACHED_RUNS = 20_000;

/** Scripts without spaces between words: each pair of neighbouring characters becomes a term. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+$/u;

const pairs = (word: string): readonly string[] => {
  const letters = [...word];
  if (letters.length < 2) return letters;
  return letters.slice(1).map((letter, at) => `${letters[at] ?? ""}${letter}`);
};

/** `Café` and `cafe` are one term, whichever way the accent is written. */
const plain = (run: string): string =>
  run
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]+/g, "")
    .normalize("NFC");

/** The rule of `splitSubtokens` for the letters of all scripts. The embedding table does not know these terms. */
const ANY_WORD =
  /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{Nd}+|[[\p{L}\p{M}\p{Nl}\p{No}]--[\p{Lu}\p{Ll}]]+/gv;

const termsOfWord = (word: string): readonly string[] =>
  UNSPACED.test(word) ? pairs(word) : [stem(word.toLowerCase())];

/** The terms of one run. */
export const termsOfRun = (run: string): readonly string[] => {
  if (!isAscii(run)) return plain(run).match(ANY_WORD)?.flatMap(termsOfWord) ?? [];
  const subtokens = splitSubtokens(run);
  // The whole identifier besides its subtokens; `user_name` and `userName` are the same term.
  const stems = subtokens.map(stem);
  return subtokens.length > 1 ? [...stems, subtokens.join("")] : stems;
};

/** Sentences of one question's passages, and of the next one's, share most of their words. */
const knownTerms = memoize(termsOfRun, MAX_CACHED_RUNS);

/**
 * The terms of a text, in its order: identifiers whole and split, stems, numbers. A query has no syntax:
 * `NEAR(`, quotes and stars are punctuation, and punctuation separates.
 */
export const tokenize = (text: string): readonly string[] => {
  const terms: string[] = [];
  for (const run of runsOf(text)) for (const term of knownTerms(run)) terms.push(term);
  return terms;
};
