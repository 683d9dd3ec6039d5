import { showControls } from "../base/text.ts";

/** Longer calls are not asked about: nobody reads them to the end, and a part could hide the rest. */
const MAX_CHARS = 2000;

const HIDDEN = "[hidden]";

/**
 * The value of an option, variable or field with a secret's name. Only what looks like a secret and nothing else is hidden:
 * one run of letters, digits and signs that keys have, which ends where the value ends.
 */
const NAMED_SECRET =
  /((?:token|secret|passw(?:or)?d|credential|api[-_]?key|private[-_]?key|access[-_]?key|bearer)s?["']?(?:=|:\s?|\s)["']?)(?=[\w+/=-]*\d)[\w+/=-]{6,}(?=$|["'\s;&|)])/gi;

/** The user and password of an address. */
const USER_INFO = /(?<=:\/\/)[^/@\s"'`$();|&<>]+(?=@)/g;

const hideSecrets = (text: string): string =>
  text.replace(NAMED_SECRET, (_all, name: string) => `${name}${HIDDEN}`).replace(USER_INFO, HIDDEN);

/** What changes how the text around it is read, without being seen. */
const INVISIBLE = /[\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;

/** A caller can neither end a line of a question nor write one: everything stands between quotes, escaped. */
export const quoteForQuestion = (text: string): string =>
  JSON.stringify(showControls(text)).replace(
    INVISIBLE,
    (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
  );

/**
 * A call for the person who decides on it, whole: every argument on a line of its own, control characters visible, secrets
 * hidden. Undefined if it is too long to be read.
 */
export const showCall = (tool: string, args: unknown): string | undefined => {
  const fields = typeof args === "object" && args !== null ? Object.entries(args) : [];
  const lines = fields
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return `  ${name}: ${quoteForQuestion(hideSecrets(text))}`;
    });
  const shown = [`The agent wants to use ${tool}${lines.length === 0 ? "." : ":"}`, ...lines].join("\n");
  return shown.length <= MAX_CHARS ? shown : undefined;
};
