const BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

/**
 * Each line begins with a sign that none of ours does. A citation's number is a part of that sign (`2> text`): whatever
 * marks a document writes, it writes none where ours stand, and nothing in its text has to be looked for or changed.
 */
export const quoteLines = (text: string, citations: readonly number[] = []): string =>
  text
    .split(BREAK)
    .map((line) => `${citations.join(",")}>${line === "" ? "" : ` ${line}`}`)
    .join("\n");

/** A title or the name of a file, as a part of a line of ours. */
export const quoteName = (name: string): string => name.split(BREAK).join(" ");
