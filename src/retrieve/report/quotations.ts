/** Single and double backticks, as in Markdown and reStructuredText; roles such as :func:`name` as well. */
const CODE_QUOTES = /``([^`\n]{1,200})``|`([^`\n]{1,200})`/g;
const TEXT_QUOTES = /"([^"\n]{1,200})"|“([^”\n]{1,200})”/g;

/** Three words in a row, with nothing of code between them. */
const PHRASE = /(?<![\p{L}\p{N}_.-])\p{L}[\p{L}'’]* \p{L}[\p{L}'’]*,? \p{L}[\p{L}'’]*(?![\p{L}\p{N}_.(=-])/u;

const contents = (text: string, quotes: RegExp): readonly string[] =>
  [...text.matchAll(quotes)].map(([, first, second]) => first ?? second ?? "");

/** Whether a quotation is a piece of English, such as a message, and no code. */
export const isPhrase = (quoted: string): boolean => PHRASE.test(quoted);

/** What stands in backticks: mostly code. */
export const codeQuotations = (text: string): readonly string[] => contents(text, CODE_QUOTES);

const MAX_PHRASES = 8;

/** Quotations that may be what a program said. */
export const quotedPhrases = (text: string): readonly string[] =>
  [...new Set([...codeQuotations(text), ...contents(text, TEXT_QUOTES)])]
    .filter(isPhrase)
    .slice(0, MAX_PHRASES);
