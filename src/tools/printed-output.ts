import { plural, takeBeginning } from "../base/text.ts";

/** Longer output is kept behind a handle: about 2,000 tokens, as of a page of a command. */
const MAX_SHOWN_CHARS = 8000;
/** Of longer output. The end shows how the run ended. */
const HEAD_CHARS = 3000;
const TAIL_CHARS = 1000;
/** For programs; some clients hand the structured result to the model, too. */
const MAX_STRUCTURED_CHARS = 30_000;

export const isLongOutput = (output: string): boolean => output.length > MAX_SHOWN_CHARS;

/** The beginning of it, as structured results have it. */
export const structuredOutput = (output: string): string => takeBeginning(output, MAX_STRUCTURED_CHARS);

const countLines = (text: string): number => {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++;
  return text === "" || text.endsWith("\n") ? lines : lines + 1;
};

/** The end, in whole lines where one begins in its first half. */
const takeEnd = (text: string): string => {
  const cut = text.slice(-TAIL_CHARS).replace(/^[\uDC00-\uDFFF]/, "");
  const lineStart = cut.indexOf("\n") + 1;
  return lineStart > 0 && lineStart < TAIL_CHARS / 2 ? cut.slice(lineStart) : cut;
};

/** What a program printed, as the model reads it: its beginning and end where a handle holds the whole. */
export const shownOutput = (output: string, handle: string | undefined): readonly string[] => {
  const text = output.replace(/\n$/, "");
  if (handle === undefined) return text === "" ? [] : [text];
  const [head, tail] = [takeBeginning(text, HEAD_CHARS), takeEnd(text)];
  const left = text.length - head.length - tail.length;
  const total = `${plural(countLines(text), "line")}, ${text.length} characters`;
  return [
    head.replace(/\n$/, ""),
    `[… ${left} characters left out; the whole output (${total}): handle:${handle}]`,
    tail,
  ];
};
