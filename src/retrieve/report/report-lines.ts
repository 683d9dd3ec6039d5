import { withoutPrefixes } from "./line-prefix.ts";

/** What is longer is cut: it is the longest question that the tools take. */
export const MAX_REPORT_CHARS = 32 * 1024;
/** Longer lines of prose are split at sentences; any other long line is data, and its beginning says what it is. */
const MAX_LINE_CHARS = 600;
/** A first line of more characters is a paragraph: its first sentence is the title. */
const MAX_TITLE_CHARS = 200;
/** `Hi all.` is no title. */
const MIN_TITLE_CHARS = 20;

/** A word with its punctuation and Markdown; no character of it fits two neighbouring parts. */
const WORD = /^["'`(*_[]*\p{L}[\p{L}'’-]*(?:["`)*_\]]["'`)*_\]]*)?[.,;:!?]*$/u;
/** With all that stands around it; what is longer is data. */
const MAX_WORD_CHARS = 200;
const SENTENCE_END = /[.!?]["'`)*_\]]*\s+(?=[\p{Lu}\p{N}"'`(*_[])|[。！？]/gu;
/** Scripts without spaces between words are prose as well. */
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;

const isWord = (part: string): boolean => part.length <= MAX_WORD_CHARS && WORD.test(part);

/** Of a line of any length: patterns see its words and its characters only. */
const isProse = (line: string): boolean => {
  const parts = line.trim().split(/\s+/);
  if (parts.length > 2 && 2 * parts.filter(isWord).length >= parts.length) return true;
  return 2 * (line.match(WIDE)?.length ?? 0) >= line.length;
};

const sentenceEnds = (text: string): readonly number[] =>
  [...text.matchAll(SENTENCE_END)].map((found) => found.index + found[0].length);

/** Lines of bounded length, without losing any prose. */
const splitLong = (line: string): readonly string[] => {
  if (line.length <= MAX_LINE_CHARS) return [line];
  if (!isProse(line)) return [line.slice(0, MAX_LINE_CHARS)];
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > MAX_LINE_CHARS) {
    const window = rest.slice(0, MAX_LINE_CHARS);
    const end = sentenceEnds(window).at(-1) ?? window.lastIndexOf(" ") + 1;
    const at = end > 0 ? end : MAX_LINE_CHARS;
    pieces.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at);
  }
  return [...pieces, rest];
};

/** The title that a first line holds, and what is left of it. */
export const splitTitle = (line: string): { readonly title: string; readonly rest: string } => {
  const text = line.trim();
  if (text.length <= MAX_TITLE_CHARS || !isProse(text)) return { title: text, rest: "" };
  const end = sentenceEnds(text).find((at) => at >= MIN_TITLE_CHARS) ?? text.length;
  return { title: text.slice(0, end).trimEnd(), rest: text.slice(end) };
};

/** Two lines that say one thing; prefixes are off. */
const PAIRS: readonly { readonly first: RegExp; readonly second: RegExp }[] = [
  // Go: `main.open(0xc000, 0x3)` or `created by main.start in goroutine 1`, and below it the place
  { first: /^(?:\S.*\)|created by \S.*)$/, second: /^\S+\.go:\d+(?: \+0x[0-9a-f]+)?$/ },
  // Rust: `3: app::open`, and below it `at ./src/open.rs:12:5`
  { first: /^\d+: +\S/, second: /^at \S+\.rs:\d+/ },
  // Rust: `thread 'main' panicked at src/main.rs:12:5:`, and below it the message
  { first: /^thread '.*panicked at \S+:\d+:\d+:$/, second: /^\S/ },
];

/** The second line of a pair, where it is one. */
const secondOf = (line: string, next: string): string | undefined => {
  for (const { first, second } of PAIRS) {
    const found = withoutPrefixes(next.trimEnd()).find((form) => second.test(form));
    if (found !== undefined && withoutPrefixes(line.trimEnd()).some((form) => first.test(form))) return found;
  }
  return undefined;
};

/** Puts a tab between lines that belong together. */
const joinPairs = (lines: readonly string[]): readonly string[] => {
  const joined: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const second = secondOf(line, lines[at + 1] ?? "");
    joined.push(second === undefined ? line : `${line.trimEnd()}\t${second}`);
    if (second !== undefined) at++;
  }
  return joined;
};

/** Comments of the form: `<!-- … -->`. */
const withoutComments = (text: string): string => {
  let kept = "";
  let from = 0;
  for (;;) {
    const start = text.indexOf("<!--", from);
    if (start < 0) return kept + text.slice(from);
    const end = text.indexOf("-->", start);
    kept += `${text.slice(from, start)}\n`;
    if (end < 0) return kept;
    from = end + 3;
  }
};

/** Whatever ends a line to a pattern: `.` matches none of them and `\s` all, so that one inside a line could be tried anywhere. */
const LINE_END = /\r\n|[\n\r\u2028\u2029]/;

/** The lines of a report, each of bounded length. */
export const reportLines = (text: string): readonly string[] =>
  joinPairs(withoutComments(text.slice(0, MAX_REPORT_CHARS)).split(LINE_END).flatMap(splitLong));
