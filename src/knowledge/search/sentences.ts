/** A sentence, and where it stands in its text. */
export interface Sentence {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Abbreviations after which a sentence goes on. */
const ABBREVIATION =
  /\b(?:e\.g|i\.e|etc|cf|vs|et al|Fig|Figs|Eq|No|Dr|Prof|Mr|Mrs|Ms|St|approx|resp|[A-Z])\.$/;
const END = /[.!?…]["'”’)\]]*(?=\s|$)|[。！？]|\n\s*\n|\n(?=\s*(?:[-+*•]|\d+[.)])\s)/g;

/** A longer one is a table or a listing, of which the beginning is enough. */
const MAX_SENTENCE_CHARS = 600;

export const sentencesOf = (text: string): readonly Sentence[] => {
  const sentences: Sentence[] = [];
  let start = 0;
  const push = (end: number): void => {
    const raw = text.slice(start, end);
    const lead = raw.length - raw.trimStart().length;
    const body = raw.trim();
    if (body !== "")
      sentences.push({
        start: start + lead,
        end: start + lead + body.length,
        text: body.slice(0, MAX_SENTENCE_CHARS),
      });
    start = end;
  };
  for (const { index, 0: mark } of text.matchAll(END)) {
    const end = index + mark.length;
    if (mark.startsWith(".") && ABBREVIATION.test(text.slice(Math.max(start, end - 12), end))) continue;
    push(end);
  }
  push(text.length);
  return sentences;
};
