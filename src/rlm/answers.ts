import { isRecord } from "../base/is-record.ts";
import { createTextSearch } from "../base/text-search.ts";
import { checkValue } from "./check-value.ts";
import type { Context, Passage } from "./context.ts";
import type { AnswerSchema } from "./contract.ts";

/** What `finish` was called with. */
export interface Finished {
  readonly value: unknown;
  readonly evidence: unknown;
}

export type Judged =
  | { readonly text: string; readonly value: unknown; readonly evidence: readonly Passage[] }
  | { readonly problem: string };

const MAX_ANSWER_CHARS = 100_000;
export const MAX_EVIDENCE = 50;
const MAX_SHOWN_EVIDENCE_CHARS = 1000;

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");

const passageOf = (context: Context, start: number, end: number): Passage => ({
  start,
  end,
  line: context.lineAt(start),
  text: context.text.slice(start, Math.min(end, start + MAX_SHOWN_EVIDENCE_CHARS)).toWellFormed(),
});

/** The part of the context that one piece of evidence names; undefined where there is none. */
const findEvidence = (context: Context, one: unknown): Passage | undefined => {
  if (typeof one === "string") {
    const start = one === "" ? -1 : createTextSearch(one)(context.text);
    return start < 0 ? undefined : passageOf(context, start, start + one.length);
  }
  if (!isRecord(one)) return undefined;
  const { start, end } = one;
  const isSpan =
    Number.isSafeInteger(start) &&
    Number.isSafeInteger(end) &&
    Number(start) >= 0 &&
    Number(start) < Number(end) &&
    Number(end) <= context.text.length;
  return isSpan ? passageOf(context, Number(start), Number(end)) : undefined;
};

const notText = (value: unknown): string =>
  `finish was called with ${Array.isArray(value) ? "an array" : `a value of the type ${typeof value}`}: give a string, such as a sentence, or the value as JSON text.`;

/** Whether an answer can be taken: a string where no schema is in force, never an empty one, one that breaks its schema, or evidence that is not there. */
export const judgeAnswer = (
  { value, evidence }: Finished,
  context: Context,
  schema: AnswerSchema | undefined,
): Judged => {
  if (value === null || value === undefined || (typeof value === "string" && value.trim() === "")) {
    return { problem: "finish was called without an answer." };
  }
  if (schema === undefined && typeof value !== "string") return { problem: notText(value) };
  const text = textOf(value);
  if (text.length > MAX_ANSWER_CHARS) {
    return { problem: `The answer has ${text.length} characters; at most ${MAX_ANSWER_CHARS} can be given.` };
  }
  const broken = schema === undefined ? undefined : checkValue(value, schema);
  if (broken !== undefined) return { problem: `finish: ${broken}.` };
  const given = evidence === undefined || evidence === null ? [] : [evidence].flat();
  if (given.length > MAX_EVIDENCE) return { problem: `More than ${MAX_EVIDENCE} pieces of evidence.` };
  const found = given.map((one) => findEvidence(context, one));
  const missing = found.indexOf(undefined);
  if (missing >= 0) {
    return {
      problem: `Evidence ${missing + 1} is not in the context: give {start, end} within it, or an exact quote.`,
    };
  }
  return { text, value, evidence: found.filter((one) => one !== undefined) };
};
