import type { Section } from "./contract.ts";

/** Bounds on what surrounds the text of a document, wherever it comes from. */
export const MAX_TITLE_CHARS = 500;
const MAX_HEADINGS = 12;
const MAX_ANCHOR_CHARS = 2000;
export const MAX_WARNINGS = 100;
export const MAX_MESSAGE_CHARS = 300;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
const CONTROL_OR_BREAK = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const EACH_CONTROL_OR_BREAK = new RegExp(CONTROL_OR_BREAK, "g");

export const refuse = (what: string): never => {
  throw new TypeError(`${what} is not what a reader sends`);
};

/** Names, titles and headings: what is shown beside a text must not look like another line. */
export const line = (value: unknown, maxChars: number): string =>
  typeof value === "string" && value.length <= maxChars && !CONTROL_OR_BREAK.test(value)
    ? value
    : refuse("a line");

/** The name of a document, which may contain anything that file names may, as one line: `a%0Ab.md`. */
export const asLine = (name: string): string =>
  name.toWellFormed().replace(EACH_CONTROL_OR_BREAK, (control) => encodeURIComponent(control));

export const text = (value: unknown): string =>
  typeof value === "string" && !CONTROL.test(value) && value.isWellFormed() ? value : refuse("a text");

export const optional = <T>(value: unknown, check: (value: unknown) => T): T | undefined =>
  value === undefined ? undefined : check(value);

export const count = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : refuse("a number");

export const items = (value: unknown, max: number): readonly unknown[] =>
  Array.isArray(value) && value.length <= max ? value : refuse("a list");

export const headings = (value: unknown): readonly string[] =>
  items(value, MAX_HEADINGS).map((heading) => line(heading, MAX_TITLE_CHARS));

/** Both or none, in their order. */
export const lineRange = ({
  startLine: start,
  endLine: end,
}: Readonly<Record<string, unknown>>): Pick<Section, "startLine" | "endLine"> => {
  const [startLine, endLine] = [optional(start, count), optional(end, count)];
  if ((startLine === undefined) !== (endLine === undefined) || (startLine ?? 0) > (endLine ?? 0))
    return refuse("a range of lines");
  return { startLine, endLine };
};

export const anchor = (value: unknown): string | undefined => {
  const found = line(value, MAX_ANCHOR_CHARS).trim();
  // No link leads to one with blanks in it.
  return found === "" || /\s/.test(found) ? undefined : found;
};
