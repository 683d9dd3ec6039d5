import type { ChunkKind } from "../chunk/chunk.ts";
import { categoryOf } from "./file-category.ts";

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
  readonly path: string;
  /** Beside the others. */
  readonly score: number;
  /** By itself. */
  readonly relevance: number;
}

/** A document that fits less is not worth a place (rank/relevance.ts). */
const SHOWN_BESIDE_CODE = 0.65;
/** With fewer places, all of them are for code. */
const MIN_SHOWN = 3;

const isDocument = ({ kind }: Fitting): boolean => kind === "prose";

/** Not a text that a test or an example reads. */
const isForReaders = (one: Fitting): boolean => {
  const category = isDocument(one) ? categoryOf(one.path) : "test";
  return category === undefined || category === "docs";
};

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

/**
 * Code that answers a question, and in the last place that is shown the best document, where one
 * fits: how something is installed, run or meant stands in prose, and code that fits the words is always to be had.
 */
export const withDocument = <T extends Fitting>(
  code: readonly T[],
  documents: readonly T[],
  shown: number,
): readonly T[] => {
  const document = documents.find((one) => isForReaders(one) && one.relevance >= SHOWN_BESIDE_CODE);
  if (document === undefined || shown < MIN_SHOWN) return code;
  const before = code.slice(0, shown - 1);
  // The scores of two rankings cannot be compared; that of its place can.
  const score = before.at(-1)?.score ?? 1;
  return [...before, { ...document, score }, ...code.slice(shown - 1)];
};
