import { RANK_WEIGHTS, type RankWeights } from "./rank-weights.ts";

/**
 * Where no chunk reaches the floor of the answer (0.5), the question is about something else, and nothing is the answer;
 * otherwise, chunks below this have nothing to do with it. One below 0.65 may have nothing (the tools mark it as weak).
 * Measured on a third of the repositories of code-search-dev: no question of their own stays without an answer, 79 % of
 * those about another of these repositories and 98 % of those about cooking and the like do. Of the right answers, none is
 * below 0.3, 1 % are below 0.35 (which costs 0.005 of NDCG@10 through the tool) and 8 % below 0.65.
 */
const RELEVANCE_FLOOR = 0.3;

export const relevantOf = <T extends { readonly relevance: number }>(
  ranked: readonly T[],
  { answerFloor }: RankWeights,
): readonly T[] =>
  ranked.some(({ relevance }) => relevance >= answerFloor)
    ? ranked.filter(({ relevance }) => relevance >= RELEVANCE_FLOOR)
    : [];

/** All terms of a question are much, one of two is little: the other one was what it is about. */
const TERMS_ALONE = 0.9;
/** For a file whose whole name is in the question: it says that the question is about this project, no more. */
const NAMED_FILE = 0.2;

export interface Evidence {
  /** Cosine. */
  readonly similarity: number;
  /** The share of the question's terms that it has. */
  readonly coverage: number;
  readonly isInNamedFile: boolean;
}

/** What vectors and terms say together about a chunk, 0 to 1. */
export const relevanceOf = ({ similarity, coverage, isInNamedFile }: Evidence): number => {
  const fit = Math.min(1, Math.max(0, similarity + coverage / 2, TERMS_ALONE * coverage ** 2));
  return isInNamedFile ? Math.max(fit, Math.min(RANK_WEIGHTS.answerFloor, fit + NAMED_FILE)) : fit;
};
