/**
 * The rule that the embedding table was trained with: consecutive capitals unless a lower-case letter follows, lower-case
 * letters with or without a capital before them, digits, and letters of other scripts.
 */
const SUBTOKEN = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\p{Nd}+|[[\p{L}\p{Nl}\p{No}]--[A-Za-z]]+/gv;

/** The same for ASCII text, in half the time. */
const ASCII_SUBTOKEN = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
const ASCII = /^[\x00-\x7f]*$/;

export const isAscii = (text: string): boolean => ASCII.test(text);

/** Splits at case changes, digits, underscores and punctuation: `HTTPServer2_name` is http, server, 2, name. */
export const splitSubtokens = (text: string): readonly string[] =>
  text.match(isAscii(text) ? ASCII_SUBTOKEN : SUBTOKEN)?.map((subtoken) => subtoken.toLowerCase()) ?? [];
