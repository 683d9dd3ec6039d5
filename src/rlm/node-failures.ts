import { LlmcError } from "../base/error.ts";
import { plural } from "../base/text.ts";
import type { TracedTurn } from "./trace.ts";

/** Replies without text in a row that end the analysis, withheld or cut off. */
export const MAX_EMPTY = 2;

/** More turns do not help a model of whose programs none worked. What they printed is not repeated: errors are logged. */
const whyNotFinished = (problems: readonly string[], rejected: readonly string[]): string => {
  if (rejected.length > 0) {
    const reasons = [...new Set(rejected)].join("; ");
    return ` ${plural(rejected.length, "answer was", "answers were")} not taken: ${reasons}.`;
  }
  if (problems.some((problem) => problem === "")) return "";
  const counts = [...Map.groupBy(problems, (problem) => problem.replaceAll("_", " "))];
  return ` No turn had a program that worked: ${counts.map(([what, { length }]) => `${what} (${length})`).join(", ")}.`;
};

/** `rejected`: why answers were not taken. */
export const outOfTurns = (turns: readonly TracedTurn[], rejected: readonly string[]): LlmcError => {
  const why = whyNotFinished(
    turns.map(({ problem = "" }) => problem),
    rejected,
  );
  return new LlmcError("budget_exceeded", `The model did not finish within ${turns.length} turns.${why}`, {
    hint:
      why === ""
        ? "Raise max_turns, or ask for less."
        : "Try another model; llmc rlm query --trace FILE --trace-content shows what it wrote.",
    details: { limit: "max_turns" },
  });
};

export const refused = (model: string): LlmcError =>
  new LlmcError("provider_error", `${model} withheld its reply ${MAX_EMPTY} times.`, {
    hint: "Rephrase the task, or use another model.",
    retryable: false,
  });

/** A model that thinks first, and longer than it may write. */
export const outOfTokens = (model: string, maxOutputTokens: number): LlmcError =>
  new LlmcError(
    "provider_error",
    `${model} used all ${maxOutputTokens} tokens of its reply before it wrote a word, ${MAX_EMPTY} times.`,
    {
      hint: "Raise mcp.llm.max_output_tokens: models that think first need several thousand; or use a model that thinks less.",
      retryable: false,
      details: { limit: "max_output_tokens" },
    },
  );
