/** M. F. Porter, "An algorithm for suffix stripping", 1980: the measure of a word counts its vowel-consonant changes. */
const isConsonant = (word: string, at: number): boolean => {
  const letter = word[at];
  if (letter === "a" || letter === "e" || letter === "i" || letter === "o" || letter === "u") return false;
  return letter !== "y" || at === 0 || !isConsonant(word, at - 1);
};

const measure = (word: string): number => {
  let count = 0;
  let wasVowel = false;
  for (let at = 0; at < word.length; at++) {
    const consonant = isConsonant(word, at);
    if (consonant && wasVowel) count++;
    wasVowel = !consonant;
  }
  return count;
};

const hasVowel = (word: string): boolean => {
  for (let at = 0; at < word.length; at++) if (!isConsonant(word, at)) return true;
  return false;
};

const endsDouble = (word: string): boolean =>
  word.length > 1 && word.at(-1) === word.at(-2) && isConsonant(word, word.length - 1);

const endsShort = (word: string): boolean =>
  word.length > 2 &&
  isConsonant(word, word.length - 3) &&
  !isConsonant(word, word.length - 2) &&
  isConsonant(word, word.length - 1) &&
  !/[wxy]$/.test(word);

const STEP_2: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["abli", "able"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
];

const STEP_3: readonly (readonly [string, string])[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];

const STEP_4 = /(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|(?<=[st])ion|ou|ism|ate|iti|ous|ive|ize)$/;

const replaceEnd = (word: string, table: readonly (readonly [string, string])[]): string => {
  for (const [end, other] of table)
    if (word.endsWith(end)) {
      const rest = word.slice(0, -end.length);
      return measure(rest) > 0 ? rest + other : word;
    }
  return word;
};

const stripPlural = (word: string): string => {
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  return word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
};

const mend = (word: string): string => {
  if (/(?:at|bl|iz)$/.test(word)) return `${word}e`;
  if (endsDouble(word) && !/[lsz]$/.test(word)) return word.slice(0, -1);
  return measure(word) === 1 && endsShort(word) ? `${word}e` : word;
};

const stripPast = (word: string): string => {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const rest = /(?:ed|ing)$/.test(word) ? word.replace(/(?:ed|ing)$/, "") : word;
  return rest !== word && hasVowel(rest) ? mend(rest) : word;
};

const stripEnd = (word: string): string => {
  const rest = word.replace(STEP_4, "");
  return rest !== word && measure(rest) > 1 ? rest : word;
};

const stripE = (word: string): string => {
  if (!word.endsWith("e")) return word;
  const rest = word.slice(0, -1);
  const size = measure(rest);
  return size > 1 || (size === 1 && !endsShort(rest)) ? rest : word;
};

/** The stem of a small-letter English word; words of other letters and very short ones stay as they are. */
export const stem = (word: string): string => {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  let stemmed = stripPast(stripPlural(word));
  if (stemmed.endsWith("y") && hasVowel(stemmed.slice(0, -1))) stemmed = `${stemmed.slice(0, -1)}i`;
  stemmed = stripE(stripEnd(replaceEnd(replaceEnd(stemmed, STEP_2), STEP_3)));
  return endsDouble(stemmed) && stemmed.endsWith("l") && measure(stemmed) > 1
    ? stemmed.slice(0, -1)
    : stemmed;
};
