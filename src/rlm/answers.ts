import { createTextSearch } from "../base/text-search.ts";
import { createPace } from "../llm/pace.ts";
import { checkValue } from "./check-value.ts";
import { type Context, isSpan, type Passage } from "./context.ts";
import type { AnswerSchema } from "./contract.ts";
import { isLowSurrogate } from "./offsets.ts";

/** What `finish` was called with. */
export interface Finished {
  readonly value: unknown;
  readonly evidence: unknown;
}

export type Judged =
  | { readonly text: string; readonly value: unknown; readonly evidence: readonly Passage[] }
  | {
      /** For the model. */
      readonly problem: string;
      /** For the caller: it quotes nothing of the answer. */
      readonly reason: string;
    };

const MAX_ANSWER_CHARS = 100_000;
const MAX_SHOWN_EVIDENCE_CHARS = 1000;

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");

/** Whole characters: half of one is no text, and nothing that the context has. */
const passageOf = (context: Context, from: number, to: number): Passage => {
  const { text } = context;
  const isInside = (at: number): boolean => at < text.length && isLowSurrogate(text.charCodeAt(at));
  const start = isInside(from) ? from - 1 : from;
  const end = isInside(to) ? to + 1 : to;
  const shown = Math.min(end, start + MAX_SHOWN_EVIDENCE_CHARS);
  const cut = isInside(shown) ? shown - 1 : shown;
  return { start, end, line: context.lineAt(start), text: text.slice(start, cut) };
};

/** A longer quote proves nothing, and takes long to find. */
const MAX_QUOTE_CHARS = 100_000;
/** Searched at once, which takes some milliseconds. */
const SLICE_CHARS = 256 * 1024;

type Pace = ReturnType<typeof createPace>;

/** Where a quote begins; lets other work run in between. */
const findQuote = async ({ text }: Context, quote: string, pace: Pace): Promise<number> => {
  if (quote === "" || quote.length > MAX_QUOTE_CHARS) return -1;
  const search = createTextSearch(quote);
  for (let from = 0; from < text.length; from += SLICE_CHARS) {
    const found = search(text.slice(from, from + SLICE_CHARS + quote.length - 1));
    if (found >= 0) return from + found;
    await pace();
  }
  return -1;
};

/** The part of the context that one piece of evidence names; undefined where there is none. */
const findEvidence = async (context: Context, one: unknown, pace: Pace): Promise<Passage | undefined> => {
  if (typeof one === "string") {
    const start = await findQuote(context, one, pace);
    return start < 0 ? undefined : passageOf(context, start, start + one.length);
  }
  return isSpan(one) && one.end <= context.text.length ? passageOf(context, one.start, one.end) : undefined;
};

const notText = (value: unknown): string =>
  `finish was called with ${Array.isArray(value) ? "an array" : `a value of the type ${typeof value}`}: give a string, such as a sentence, or the value as JSON text.`;

/**
 * Accepts or rejects an answer: it is a string unless there is a schema, which it has to fit; it is not empty, and its
 * evidence is in the context.
 */
export const judgeAnswer = async (
  { value, evidence }: Finished,
  context: Context,
  schema: AnswerSchema | undefined,
  signal?: AbortSignal,
): Promise<Judged> => {
  if (value === null || value === undefined || (typeof value === "string" && value.trim() === "")) {
    return { problem: "finish was called without an answer.", reason: "it was empty" };
  }
  if (schema === undefined && typeof value !== "string")
    return { problem: notText(value), reason: "it was not a text" };
  const text = textOf(value);
  if (text.length > MAX_ANSWER_CHARS) {
    return {
      problem: `The answer has ${text.length} characters; at most ${MAX_ANSWER_CHARS} can be given.`,
      reason: "it was too long",
    };
  }
  const broken = schema === undefined ? undefined : checkValue(value, schema);
  if (broken !== undefined) return { problem: `finish: ${broken}.`, reason: "it broke the schema" };
  const given = evidence === undefined || evidence === null ? [] : [evidence].flat();
  const pace = createPace(signal);
  const found: Passage[] = [];
  for (const one of given) {
    const passage = await findEvidence(context, one, pace);
    if (passage === undefined) {
      return {
        problem: `Evidence ${found.length + 1} is not in the context: give {start, end} within it, or an exact quote.`,
        reason: "its evidence is not in the text",
      };
    }
    found.push(passage);
  }
  return { text, value, evidence: found };
};
