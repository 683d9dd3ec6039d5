import { tokenize } from "../../retrieve/terms/tokenize.ts";
import { sentencesOf } from "../search/sentences.ts";

/** The share of a sentence's terms that its passages must have: a sentence with less says something else. */
const SUPPORT = 0.6;
/** The share that a source sentence must have for a number in it to be about the same thing. */
const SAME_SUBJECT = 0.3;

const NEGATION =
  /\b(?:not|no|never|none|neither|nor|nothing|nobody|without|cannot)\b|n['’]t\b|\b(?:nicht|kein\w*|nie|ohne)\b/gi;

const SMALL = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " +
  "seventeen eighteen nineteen"
).split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const NUMERALS: ReadonlyMap<string, number> = new Map([
  ...SMALL.map((word, at) => [word, at] as const),
  ...TENS.map((word, at) => [word, (at + 2) * 10] as const),
]);
const COMPOUND = new RegExp(`\\b(${TENS.join("|")})[- ](${SMALL.slice(1, 10).join("|")})\\b`, "gi");

const numeralOf = (word: string): number => NUMERALS.get(word.toLowerCase()) ?? 0;

/** Numbers as digits, whichever way they are written: `thirty`, `1,000` and `1000`, `2.50` and `2.5`. */
const withDigits = (text: string): string =>
  text
    .replace(COMPOUND, (_, tens: string, ones: string) => String(numeralOf(tens) + numeralOf(ones)))
    .replace(/[A-Za-z]+/g, (word) => String(NUMERALS.get(word.toLowerCase()) ?? word))
    .replace(/(\d),(?=\d{3}\b)/g, "$1");

const numbersIn = (text: string): ReadonlySet<string> =>
  new Set(
    (withDigits(text).match(/\d+(?:[.:]\d+)*/g) ?? []).map((one) =>
      /^\d+\.\d+$/.test(one) ? String(Number(one)) : one,
    ),
  );

const isNegated = (text: string): boolean => (text.match(NEGATION)?.length ?? 0) % 2 === 1;

/** What a sentence is about: without its numbers and negations, which are compared by themselves. */
const subjectOf = (text: string): ReadonlySet<string> =>
  new Set(tokenize(withDigits(text).replace(NEGATION, " ")).filter((term) => !/^\d+$/.test(term)));

const shareOf = (wanted: ReadonlySet<string>, found: ReadonlySet<string>): number =>
  [...wanted].filter((term) => found.has(term)).length / Math.max(1, wanted.size);

interface SourceSentence {
  readonly subject: ReadonlySet<string>;
  readonly numbers: ReadonlySet<string>;
  readonly isNegated: boolean;
}

/** A passage as it is compared with sentences: read once, however often it is cited. */
export interface Source {
  readonly terms: ReadonlySet<string>;
  readonly sentences: readonly SourceSentence[];
}

export const readSource = (passage: string): Source => ({
  terms: new Set(tokenize(passage)),
  sentences: sentencesOf(passage).map(({ text }) => ({
    subject: subjectOf(text),
    numbers: numbersIn(text),
    isNegated: isNegated(text),
  })),
});

/**
 * Whether passages say what a sentence states, as far as words show it: most of its terms are there, every number stands in
 * a sentence about the same thing, and the sentence that is closest to it is negated if and only if it is.
 */
export const isSupported = (statement: string, sources: readonly Source[]): boolean => {
  const terms = [...new Set(tokenize(statement))];
  const written = terms.filter((term) => sources.some((source) => source.terms.has(term)));
  if (written.length / Math.max(1, terms.length) < SUPPORT) return false;
  const subject = subjectOf(statement);
  const sentences = sources
    .flatMap((source) => source.sentences)
    .map((one) => ({ ...one, share: shareOf(subject, one.subject) }));
  const near = sentences.filter(({ share }) => share >= SAME_SUBJECT);
  const closest = sentences.reduce((highest, { share }) => Math.max(highest, share), 0);
  const isSameWay = sentences.some((one) => one.share === closest && one.isNegated === isNegated(statement));
  return (
    isSameWay && [...numbersIn(statement)].every((number) => near.some(({ numbers }) => numbers.has(number)))
  );
};
