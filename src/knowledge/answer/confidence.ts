import type { QueryVectors } from "../search/passage-embedder.ts";
import type { RankedPassage } from "../search/passage-index.ts";
import type { Calibration } from "../store/contract.ts";

/** How surely the best passages answer a question, before it is turned into a probability. */
interface Model {
  readonly bias: number;
  readonly coverage: number;
  readonly similarity: number;
  readonly margin: number;
}

/**
 * Logistic regressions, for each table of vectors its own, because their cosines have other scales. Fitted once: questions
 * of SciFact and CoSQA over their own documents, against questions of other sets and, with SciFact, its own questions over
 * its documents without those that answer, both kinds with the same weight. The bias puts the probability of one half where
 * seven answerable questions in a hundred (six of CoSQA) stay below it. `bench/knowledge.ts` reports these models, which
 * flatters, and beside them models that were fitted on one half of the questions and are judged by the other.
 */
const MODELS: Readonly<Record<keyof QueryVectors, Model>> = {
  prose: { bias: -5.68, coverage: 2.3, similarity: 8.07, margin: 5.21 },
  code: { bias: -12.0, coverage: 10.45, similarity: 20.55, margin: -10.63 },
};

/** How many of the best passages are looked at. */
const LOOKED_AT = 5;
/** With which of the others the best match is compared. */
const COMPARED = 5;

/** What the models look at, in passages that were found. */
export const signalsOf = (ranked: readonly RankedPassage[]): Omit<Model, "bias"> => {
  const top = ranked.slice(0, LOOKED_AT);
  const largest = (value: (one: RankedPassage) => number): number => Math.max(...top.map(value));
  const matches = ranked.map(({ lexical }) => lexical).toSorted((a, b) => b - a);
  return {
    coverage: largest((one) => one.coverage),
    similarity: largest((one) => one.similarity),
    margin: (matches[0] ?? 0) - (matches[COMPARED] ?? 0),
  };
};

export const logitOf = (ranked: readonly RankedPassage[]): number => {
  const [first] = ranked;
  if (first === undefined) return Number.NEGATIVE_INFINITY;
  const model = MODELS[first.table];
  const signals = signalsOf(ranked);
  return (
    model.bias +
    model.coverage * signals.coverage +
    model.similarity * signals.similarity +
    model.margin * signals.margin
  );
};

const UNCALIBRATED: Calibration = { slope: 1, offset: 0 };

const probability = ({ slope, offset }: Calibration, logit: number): number =>
  1 / (1 + Math.exp(-(slope * logit + offset)));

/** The probability that the passages answer the question. */
export const confidenceOf = (logit: number, calibration: Calibration = UNCALIBRATED): number =>
  Math.round(probability(calibration, logit) * 1000) / 1000;

/** Below this probability, the reply is that the knowledge base has no answer. */
export const ANSWER_FLOOR = 0.5;

/** With fewer questions, a collection is not calibrated. */
const MIN_EXAMPLES = 20;
const ROUNDS = 50;
/** Regularises towards slope 1 and offset 0, so that a handful of questions changes little. */
const PRIOR = 2;

interface Example {
  readonly logit: number;
  readonly isAnswered: boolean;
}

/** How badly a line fits the examples, with how far it is from slope 1 and offset 0. */
const lossOf = (line: Calibration, examples: readonly Example[]): number =>
  examples.reduce(
    (sum, { logit, isAnswered }) => {
      const p = probability(line, logit);
      return sum - Math.log(Math.max(1e-12, isAnswered ? p : 1 - p));
    },
    (PRIOR * ((line.slope - 1) ** 2 + line.offset ** 2)) / 2,
  );

/** A step of Newton's method, shortened until the line fits better with it. */
const improve = (line: Calibration, examples: readonly Example[]): Calibration => {
  const { slope, offset } = line;
  let [g0, g1, h00, h01, h11] = [PRIOR * (1 - slope), -PRIOR * offset, PRIOR, 0, PRIOR];
  for (const { logit, isAnswered } of examples) {
    const p = probability(line, logit);
    const error = (isAnswered ? 1 : 0) - p;
    const weight = p * (1 - p);
    g0 += error * logit;
    g1 += error;
    h00 += weight * logit * logit;
    h01 += weight * logit;
    h11 += weight;
  }
  const determinant = h00 * h11 - h01 * h01;
  const before = lossOf(line, examples);
  for (let length = 1; length > 1e-6; length /= 2) {
    const next = {
      slope: slope + (length * (g0 * h11 - g1 * h01)) / determinant,
      offset: offset + (length * (g1 * h00 - g0 * h01)) / determinant,
    };
    if (lossOf(next, examples) < before) return next;
  }
  return line;
};

/** Platt scaling: the line that makes the confidences of answered and unanswered questions most likely. */
export const calibrate = (examples: readonly Example[]): Calibration => {
  const usable = examples.filter(({ logit }) => Number.isFinite(logit));
  const answered = usable.filter(({ isAnswered }) => isAnswered).length;
  if (usable.length < MIN_EXAMPLES || answered === 0 || answered === usable.length) return UNCALIBRATED;
  let line = UNCALIBRATED;
  for (let round = 0; round < ROUNDS; round++) line = improve(line, usable);
  return line.slope > 0 ? line : UNCALIBRATED;
};
