/** Longer calls are not asked about: nobody reads them to the end, and a part could hide the rest. */
const MAX_CHARS = 2000;

/**
 * What may not be seen, looks like a space or changes how the text around it is read: by Unicode's own properties, which
 * include what has no meaning yet. U+2800 is a letter without a dot.
 */
const INVISIBLE = /(?! )[\p{Default_Ignorable_Code_Point}\p{C}\p{Z}\u2800]/gu;

/**
 * Everything in a question that somebody else chose goes through this: a caller can neither end a line nor write one, nor
 * hide anything. It stands between quotes, escaped, and nothing is left out.
 */
export const quoteForQuestion = (text: string): string =>
  JSON.stringify(text).replace(INVISIBLE, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);

/**
 * A call for the person who decides on it, whole: every argument on a line of its own, whatever is in it visible. Nothing
 * that looks like a secret is hidden here: the caller would choose what (decision 035). Undefined if it is too long to be read.
 */
export const showCall = (tool: string, args: unknown): string | undefined => {
  const fields = typeof args === "object" && args !== null ? Object.entries(args) : [];
  const lines = fields
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      // A schema may let its caller choose the name, too.
      return `  ${quoteForQuestion(name)}: ${quoteForQuestion(text)}`;
    });
  const shown = [`The agent wants to use ${tool}${lines.length === 0 ? "." : ":"}`, ...lines].join("\n");
  return shown.length <= MAX_CHARS ? shown : undefined;
};
