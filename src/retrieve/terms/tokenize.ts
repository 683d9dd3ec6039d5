import { runsOf } from "./runs.ts";
import { isAscii, splitWords } from "./split-words.ts";
import { stem } from "./stem.ts";

/** Scripts that put no space between words: a pair of neighbours stands for a word. */
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

/** The rule of `splitWords` for the letters of all scripts, which the embedding table does not know. */
const ANY_WORD =
  /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{Nd}+|[[\p{L}\p{M}\p{Nl}\p{No}]--[\p{Lu}\p{Ll}]]+/gv;

const termsOfWord = (word: string): readonly string[] =>
  UNSPACED.test(word) ? pairs(word) : [stem(word.toLowerCase())];

/** The terms of one identifier, word or number. */
export const termsOfRun = (run: string): readonly string[] => {
  if (!isAscii(run)) return plain(run).match(ANY_WORD)?.flatMap(termsOfWord) ?? [];
  const words = splitWords(run);
  // The whole identifier besides its words; `user_name` and `userName` are the same one.
  return words.length > 1 ? [...words.map(stem), words.join("")] : words.map(stem);
};

/**
 * The terms of a text, in its order: identifiers whole and split, words stemmed, numbers. Nothing in it is syntax:
 * `NEAR(`, quotes and stars are punctuation, and punctuation separates.
 */
export const tokenize = (text: string): readonly string[] => runsOf(text).flatMap(termsOfRun);
