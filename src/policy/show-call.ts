import { showControls } from "../base/text.ts";

/** Longer calls are not asked about: nobody reads them to the end, and a part could hide the rest. */
const MAX_CHARS = 2000;

/** What changes how the text around it is read, without being seen. */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** A caller can neither end a line of a question nor write one: everything stands between quotes, escaped. */
export const quoteForQuestion = (text: string): string =>
  JSON.stringify(showControls(text)).replace(
    INVISIBLE,
    (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
  );

/**
 * A call for the person who decides on it, whole: every argument on a line of its own, control characters visible. Nothing
 * that looks like a secret is hidden here: the caller would choose what (decision 035). Undefined if it is too long to be read.
 */
export const showCall = (tool: string, args: unknown): string | undefined => {
  const fields = typeof args === "object" && args !== null ? Object.entries(args) : [];
  const lines = fields
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `  ${name}: ${quoteForQuestion(text)}`;
    });
  const shown = [`The agent wants to use ${tool}${lines.length === 0 ? "." : ":"}`, ...lines].join("\n");
  return shown.length <= MAX_CHARS ? shown : undefined;
};
