/** What a model is shown of one turn. */
const HEAD_CHARS = 6000;
const TAIL_CHARS = 2000;

/** The beginning and the end of a text that is too long to be shown, and how much is missing between them. */
export const headAndTail = (text: string, headChars = HEAD_CHARS, tailChars = TAIL_CHARS): string => {
  const left = text.length - headChars - tailChars;
  if (left <= 0) return text;
  const head = text.slice(0, headChars).toWellFormed();
  const tail = text.slice(text.length - tailChars).toWellFormed();
  return `${head}\n[… ${left} of ${text.length} characters left out …]\n${tail}`;
};
