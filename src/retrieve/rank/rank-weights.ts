/**
 * All weights of the ranking. Boosts are shares of the best score before boosts. They were chosen by reasoning and checked on
 * two halves of the repositories, where differences below 0.005 are noise.
 */
export interface RankWeights {
  /** Share of the vector score for code; the rest is the lexical score. Flat between 0.4 and 0.6. */
  readonly vectorShare: number;
  /** The same for prose, which the table, trained on code, represents badly. */
  readonly proseVectorShare: number;
  /** The maximum for a query that is an identifier: chunks that contain it come before those that only resemble its parts. */
  readonly symbolVectorShare: number;
  /** The file name matches the query. */
  readonly stem: number;
  /** Directories of its path do. */
  readonly path: number;
  /** A document in the root (README, CONTRIBUTING), which is written for those who do not know the rest yet. */
  readonly rootDocument: number;
  /** The chunk defines a name that occurs in a sentence (`how StaticModel encodes`). */
  readonly namedDefinition: number;
  /**
   * The query is a name, and the chunk defines it. Larger than all other boosts together, even after `demotion`, so
   * that it comes first.
   */
  readonly exactDefinition: number;
  /** Several good chunks in one file: it is about the subject, and does not only mention it. */
  readonly siblings: number;
  /**
   * The query is a name that several files define, and the whole repository depends on this one. Less than `stem`: a file
   * whose name matches the query stays first. As a boost for every query it gained nothing (DEV 0.896 at 0.05 and 0.887 at
   * 0.4, beside 0.896 without).
   */
  readonly centrality: number;
  /** Factor on the score of tests, examples, documents, vendored and generated files that the query does not ask for. */
  readonly demotion: number;
  /** Where no chunk is as relevant as this, the question is about something else (rank/relevance.ts). */
  readonly answerFloor: number;
}

export const RANK_WEIGHTS: RankWeights = {
  vectorShare: 0.5,
  proseVectorShare: 0.2,
  symbolVectorShare: 0.2,
  stem: 0.35,
  path: 0.12,
  rootDocument: 0.12,
  namedDefinition: 0.6,
  exactDefinition: 3.5,
  siblings: 0.15,
  centrality: 0.2,
  demotion: 0.6,
  answerFloor: 0.5,
};

/**
 * Where a sentence model makes the vectors, which was trained on prose. Measured with all-MiniLM-L6-v2: SciFact is flat
 * between shares of 0.2 and 0.5 for prose (0.73 against 0.69 without vectors) and falls above; repositories of code are
 * flat up to 0.5 and fall above, where functions without a repository around them (CoSQA) still gain. Its cosines are of
 * another scale, for which no higher floor has been measured.
 */
export const MODEL_RANK_WEIGHTS: RankWeights = {
  ...RANK_WEIGHTS,
  proseVectorShare: 0.4,
  answerFloor: 0.35,
};

/** How many chunks besides its best one boost a file: with more, long files would win by their length. */
export const SIBLING_CHUNKS = 3;

/** How many of the nearest and of the best-matching chunks are candidates. */
export const CANDIDATES = 200;

/**
 * How sure a definition is: a name in another case (`request` for `Request`), one that is not the first of its chunk, and one
 * that belongs to another class or module than the query says. Each leaves it above everything that defines nothing.
 */
export const OTHER_CASE = 0.85;
export const INNER_NAME = 0.95;
export const OTHER_OWNER = 0.75;
