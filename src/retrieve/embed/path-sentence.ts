import { splitWords } from "../terms/split-words.ts";

/** The nearest folders and the name say what a file is about; a deep path must not take the place of its text. */
const MAX_WORDS = 12;

/** A path as a sentence model reads it: its words, without numbers, single letters and the extension. */
export const pathSentence = (path: string): string =>
  splitWords(path.replace(/(?<=[^/])\.[^./]*$/, ""))
    .filter((word) => word.length > 1 && !/^\p{Nd}+$/u.test(word))
    .slice(-MAX_WORDS)
    .join(" ");
