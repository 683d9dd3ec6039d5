/**
 * As Cedar reads them: a comment ends at a carriage return, too, and a backslash takes any character with it. A string that
 * does not end takes the rest, so that it is looked for only once; Cedar reads nothing behind it either.
 */
export const COMMENT_OR_STRING = /"(?:\\.|[^"\\])*"?|\/\/[^\r\n]*/gs;

/** The same text, of the same length, with blanks in place of the comments. */
const withoutComments = (text: string): string =>
  text.replace(COMMENT_OR_STRING, (part) => (part.startsWith("//") ? " ".repeat(part.length) : part));

export interface LocatedPolicy {
  readonly text: string;
  /** In UTF-16 units. */
  readonly start: number;
}

/**
 * Where each policy stands, in the order of the file; Cedar gives only their texts. The longest are found first and taken
 * out, because one may be the end of another that has an annotation in front.
 */
export const locatePolicies = (fileText: string, policies: readonly string[]): readonly LocatedPolicy[] => {
  let left = withoutComments(fileText);
  const located = policies
    .toSorted((a, b) => b.length - a.length)
    .map((text): LocatedPolicy => {
      const start = Math.max(0, left.indexOf(withoutComments(text)));
      left = left.slice(0, start) + " ".repeat(text.length) + left.slice(start + text.length);
      return { text, start };
    });
  return located.toSorted((a, b) => a.start - b.start);
};

/** Whether a file permits something or phrases a question, without parsing it: a word outside comments and texts says so. */
export const needsTrust = (text: string): boolean =>
  /\bpermit\b|@\s*prompt\b/.test(text.replace(COMMENT_OR_STRING, " "));
