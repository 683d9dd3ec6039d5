import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { ANSWER_PASSAGES } from "../answer/answer.ts";
import { ANSWER_FLOOR, calibrate, confidenceOf, logitOf } from "../answer/confidence.ts";
import { extractUnits } from "../answer/extract.ts";
import type { StaticTables } from "../search/passage-embedder.ts";
import type { Evidence, Searched } from "../search/search-generation.ts";
import type { EvalQuestion, EvalScores, Generation } from "../store/contract.ts";
import { mean, ndcgAt, percentile, recallAt, reciprocalRank } from "./metrics.ts";

/** What became of one question. */
export interface Outcome {
  readonly query: string;
  readonly isAnswerable: boolean;
  readonly recall: number;
  readonly mrr: number;
  readonly ndcg: number;
  /**
   * Where the question has the text of its answer: whether sentences of a document that answers contain it. Otherwise the
   * share of the answer's sentences that stand in such a document. Of an unanswerable question 0.
   */
  readonly faithfulness: number;
  readonly logit: number;
  readonly ms: number;
}

export interface Evaluation {
  readonly scores: EvalScores;
  readonly outcomes: readonly Outcome[];
  /** The active version with the same questions, at the same time; undefined where there is no other. */
  readonly active?: { readonly version: string; readonly scores: EvalScores } | undefined;
}

export interface EvaluateParts {
  readonly search: (generation: Generation, query: string, limit: number) => Promise<Searched>;
  readonly tables: StaticTables;
}

const DEPTH = 10;
/** Passages asked for, so that ten documents are among them. */
const ASKED = 50;

const endsWith = (uri: string, end: string): boolean =>
  uri === end || uri.endsWith(end.startsWith("/") ? end : `/${end}`);

const isGold = (uri: string, gold: readonly string[]): boolean => gold.some((end) => endsWith(uri, end));

/** Which documents are right. Each gold counts once, for the first that it fits: of several, the rest are not wanted. */
const judge = (uris: readonly string[], gold: readonly string[]): readonly boolean[] => {
  // The longest first: what fits the end of a path alone is left for other documents.
  const open = new Set(gold.toSorted((a, b) => b.length - a.length));
  return uris.map((uri) => {
    const found = [...open].find((end) => endsWith(uri, end));
    return found !== undefined && open.delete(found);
  });
};

const distinctDocuments = (evidence: readonly Evidence[]): readonly string[] => [
  ...new Set(evidence.map(({ passage }) => passage.document.uri)),
];

const flat = (text: string): string => text.replace(/\s+/g, " ").trim();

/** How much of an answer comes from a document that answers the question. */
const faithfulnessOf = (
  question: EvalQuestion,
  evidence: readonly Evidence[],
  tables: StaticTables,
): number => {
  const sentences = extractUnits(question.query, evidence.slice(0, ANSWER_PASSAGES), tables)
    // A long block is quoted up to a mark, and its fence is closed.
    .map((one) => flat(one.replace(/\n…(?:\n[`~]+)?$/, "")))
    .filter(Boolean);
  const right = evidence.filter(({ passage }) => isGold(passage.document.uri, question.gold));
  const written = right.map(({ passage }) => flat(passage.text)).join(" ");
  const faithful = sentences.filter((sentence) => written.includes(sentence));
  if (question.answer === undefined) return faithful.length / Math.max(1, sentences.length);
  return faithful.join(" ").toLowerCase().includes(flat(question.answer).toLowerCase()) ? 1 : 0;
};

const measure = async (
  { search, tables }: EvaluateParts,
  generation: Generation,
  question: EvalQuestion,
): Promise<Outcome> => {
  const started = performance.now();
  const { ranked, evidence } = await search(generation, question.query, ASKED);
  const ms = performance.now() - started;
  const judged = judge(distinctDocuments(evidence), question.gold);
  const wanted = new Set(question.gold).size;
  return {
    query: question.query,
    isAnswerable: wanted > 0,
    recall: recallAt(judged, wanted, DEPTH),
    mrr: reciprocalRank(judged.slice(0, DEPTH)),
    ndcg: ndcgAt(judged, wanted, DEPTH),
    faithfulness: wanted > 0 ? faithfulnessOf(question, evidence, tables) : 0,
    logit: logitOf(ranked),
    ms,
  };
};

const round = (value: number): number => Math.round(value * 10_000) / 10_000;

/** Asks every question of a set, and says how well the generation answers. */
export const evaluate = async (
  parts: EvaluateParts,
  generation: Generation,
  questions: readonly EvalQuestion[],
  signal?: AbortSignal,
): Promise<Evaluation> => {
  const outcomes: Outcome[] = [];
  for (const question of questions) {
    stopIfAborted(signal);
    outcomes.push(await measure(parts, generation, question));
  }
  const answerable = outcomes.filter(({ isAnswerable }) => isAnswerable);
  const others = outcomes.filter(({ isAnswerable }) => !isAnswerable);
  const calibration = calibrate(
    outcomes.map(({ logit, isAnswerable }) => ({ logit, isAnswered: isAnswerable })),
  );
  const isRefused = ({ logit }: Outcome): boolean => confidenceOf(logit, calibration) < ANSWER_FLOOR;
  return {
    outcomes,
    scores: {
      questions: outcomes.length,
      recall: round(mean(answerable.map(({ recall }) => recall))),
      mrr: round(mean(answerable.map(({ mrr }) => mrr))),
      ndcg: round(mean(answerable.map(({ ndcg }) => ndcg))),
      faithfulness: round(mean(answerable.map(({ faithfulness }) => faithfulness))),
      refusals: others.length === 0 ? null : round(mean(others.map((one) => (isRefused(one) ? 1 : 0)))),
      p95Ms:
        Math.round(
          percentile(
            outcomes.map(({ ms }) => ms),
            0.95,
          ) * 100,
        ) / 100,
      calibration,
    },
  };
};

/** Why a generation is not good enough to be promoted; empty where it is. */
export const shortcomings = (
  scores: EvalScores,
  active: EvalScores | undefined,
  { minRecall, maxDrop }: { readonly minRecall: number; readonly maxDrop: number },
): readonly string[] => [
  ...(scores.recall < minRecall ? [`recall@10 is ${scores.recall}, below ${minRecall}`] : []),
  ...(active !== undefined && scores.ndcg < active.ndcg - maxDrop
    ? [`nDCG@10 is ${scores.ndcg}, against ${active.ndcg} of the active version with the same questions`]
    : []),
];
