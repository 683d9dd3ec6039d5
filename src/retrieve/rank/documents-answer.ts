import type { ChunkKind } from "../chunk/chunk.ts";

/**
 * How far the best document must be ahead of the best code, by the score that ranks both (where documents are demoted).
 * On the mixed questions of bench/mixed.ts, those about code stay below 1.08, and four of five about documents are above.
 */
const LEAD = 1.1;
/** Code that fits less than this may be beside the point (rank/relevance.ts) … */
const UNSURE_CODE = 0.7;
/** … and documents are shown instead if they fit by so much more. */
const FITS_BETTER = 0.2;
/** The best of so many pieces of code speaks for the code. */
const CODE_HEARD = 3;

interface Fitting {
  readonly kind: ChunkKind;
  /** Beside the others. */
  readonly score: number;
  /** By itself. */
  readonly relevance: number;
}

const isDocument = ({ kind }: Fitting): boolean => kind === "prose";

/**
 * The answer to a question that names no scope, out of a ranking of code and documents together: undefined where it should
 * be the best code. Where documents answer it, code that fits them as well stays in it.
 */
export const documentsAnswer = <T extends Fitting>(ranked: readonly T[]): readonly T[] | undefined => {
  const document = ranked.find(isDocument);
  if (document === undefined) return undefined;
  const code = ranked.filter((one) => !isDocument(one)).slice(0, CODE_HEARD);
  const score = Math.max(0, ...code.map((one) => one.score));
  const fit = Math.max(0, ...code.map((one) => one.relevance));
  const isAhead = document.score >= LEAD * score;
  const isBetter = fit < UNSURE_CODE && document.relevance >= fit + FITS_BETTER;
  if (!isAhead && !isBetter) return undefined;
  return ranked.filter((one) => isDocument(one) || one.relevance > document.relevance - FITS_BETTER);
};
