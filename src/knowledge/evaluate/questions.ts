import { LlmcError } from "../../base/error.ts";
import { isRecord } from "../../base/is-record.ts";
import type { EvalQuestion } from "../store/contract.ts";

export const MAX_QUESTIONS = 10_000;
/** What a tool takes as a question, and room for documents and answers. */
const MAX_QUERY_CHARS = 10_000;
const MAX_GOLD = 1000;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= MAX_QUERY_CHARS;

/** A set may come from anybody: in a pack, too. */
export const isQuestion = (value: unknown): value is EvalQuestion => {
  if (!isRecord(value)) return false;
  const { query, gold, answer } = value;
  return (
    isText(query) &&
    Array.isArray(gold) &&
    gold.length <= MAX_GOLD &&
    gold.every(isText) &&
    (answer === undefined || isText(answer))
  );
};

const badSet = (line: number): LlmcError =>
  new LlmcError("invalid_args", `Line ${line} of the question set cannot be read.`, {
    hint: 'Each line is JSON: {"query": "…", "gold": ["docs/install.md"], "answer": "…"}; without gold, nothing answers it.',
  });

const readLine = (line: string, at: number): EvalQuestion => {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw badSet(at);
  }
  const question = isRecord(value) ? { gold: [], ...value } : value;
  if (!isQuestion(question)) throw badSet(at);
  const { query, gold, answer } = question;
  return { query, gold, ...(answer === undefined ? {} : { answer }) };
};

/** Reads a question set: JSON lines. */
export const parseQuestions = (text: string): readonly EvalQuestion[] => {
  const lines = text.split("\n").map((line, at) => ({ line, at: at + 1 }));
  const questions = lines.filter(({ line }) => line.trim() !== "").map(({ line, at }) => readLine(line, at));
  if (questions.length === 0 || questions.length > MAX_QUESTIONS)
    throw new LlmcError("invalid_args", `A question set has 1 to ${MAX_QUESTIONS} questions.`);
  return questions;
};
