/** `[12]`, also with other brackets and digits, as a document may write it to look like a citation. */
const MARK = /[[［【]\s*(\p{Nd}[\p{Nd}\s,;–-]{0,40})[\]］】]/gu;
/** The same, but not `rows[0]`, which is code. */
const FREE_MARK = new RegExp(`(?<![\\p{L}\\p{N}_)\\]])${MARK.source}`, "gu");

const BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

/** In what a document says, only we number citations: its own marks become `(12)`. In code, an index stays one. */
export const withoutMarks = (text: string, isCode = false): string =>
  text.replace(isCode ? FREE_MARK : MARK, "($1)");

/** Each line begins with a sign that none of ours does. */
export const quoteLines = (text: string): string =>
  text
    .split(BREAK)
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");

/** What a document says, so that no reader takes it for our own words. */
export const quoteDocument = (text: string): string => quoteLines(withoutMarks(text, true));

/** A title or the name of a file, as a part of a line of ours. */
export const quoteName = (name: string): string => withoutMarks(name.split(BREAK).join(" "));
