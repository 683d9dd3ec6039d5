/**
 * Every weight of the ranking. Boosts are shares of the best score before boosts. They were set by reason and looked at on
 * two halves of repositories: a change that moves the figures by less than 0.005 moves nothing.
 */
export interface RankWeights {
  /** Share of the vector score for code; the rest is the lexical score. Flat between 0.4 and 0.6. */
  readonly vectorShare: number;
  /** The same for prose: the table was trained on code, and knows the words of prose badly. */
  readonly proseVectorShare: number;
  /** The most for a query that is a name: what mentions it comes before what only resembles its parts. */
  readonly symbolVectorShare: number;
  /** The file is called what is asked for. */
  readonly stem: number;
  /** Folders on the way to the file are. */
  readonly path: number;
  /** The chunk defines a name that a sentence spells out (`how StaticModel encodes`). */
  readonly namedDefinition: number;
  /** The query is a name, and the chunk defines it. More than all else together, also after `aside`: it comes first. */
  readonly exactDefinition: number;
  /** Several good chunks in one file: it is about the matter, and does not only mention it. */
  readonly company: number;
  /**
   * The query is a name that several files define, and all of the repository rests on this one. Less than `stem`: a file
   * that is called what is asked for stays first. As a lift of every query it gained nothing (DEV 0.896 at 0.05 and 0.887 at
   * 0.4, beside 0.896 without).
   */
  readonly centrality: number;
  /** What is left of the score of tests, examples, documents, vendored and generated files that nobody asked for. */
  readonly aside: number;
}

export const RANK_WEIGHTS: RankWeights = {
  vectorShare: 0.5,
  proseVectorShare: 0.2,
  symbolVectorShare: 0.2,
  stem: 0.35,
  path: 0.12,
  namedDefinition: 0.6,
  exactDefinition: 3.5,
  company: 0.15,
  centrality: 0.2,
  aside: 0.6,
};

/**
 * Where a sentence model makes the vectors, which was trained on prose. Measured with all-MiniLM-L6-v2: SciFact is flat
 * between shares of 0.2 and 0.5 for prose (0.73 against 0.69 without vectors) and falls above; repositories of code are
 * flat up to 0.5 and fall above, where functions without a repository around them (CoSQA) still gain.
 */
export const MODEL_RANK_WEIGHTS: RankWeights = { ...RANK_WEIGHTS, proseVectorShare: 0.4 };

/** Chunks of a file beyond the best that lift it: with more of them long files would win by their length. */
export const COMPANY_CHUNKS = 3;

/** How many of the nearest and of the best-matching chunks are looked at: the ones asked for lie among them or are named. */
export const CANDIDATES = 200;

/**
 * How sure a definition is: a name in another case (`request` for `Request`), one that is not the first of its chunk, and one
 * that belongs to another class or module than the query says. Each leaves it above everything that defines nothing.
 */
export const OTHER_CASE = 0.85;
export const INNER_NAME = 0.95;
export const OTHER_OWNER = 0.75;
