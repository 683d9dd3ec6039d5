/**
 * The rule the embedding table was trained with: capitals together unless a small letter follows, a word with or without
 * its capital, digits, and runs of letters of other scripts.
 */
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\p{Nd}+|[[\p{L}\p{Nl}\p{No}]--[A-Za-z]]+/gv;

/** The same for text without other scripts: half of the time. */
const ASCII_WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
const ASCII = /^[\x00-\x7f]*$/;

export const isAscii = (text: string): boolean => ASCII.test(text);

/** Splits at case changes, digits, underscores and punctuation: `HTTPServer2_name` is http, server, 2, name. */
export const splitWords = (text: string): readonly string[] =>
  text.match(isAscii(text) ? ASCII_WORD : WORD)?.map((word) => word.toLowerCase()) ?? [];
