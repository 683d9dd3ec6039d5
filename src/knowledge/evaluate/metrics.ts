/** Which of the results are right, in the order of the results; never more of them than are wanted. */
type Judged = readonly boolean[];

/** The share of the right documents among the first k. */
export const recallAt = (judged: Judged, wanted: number, k: number): number =>
  wanted === 0 ? 0 : judged.slice(0, k).filter(Boolean).length / Math.min(wanted, k);

export const reciprocalRank = (judged: Judged): number => {
  const at = judged.indexOf(true);
  return at < 0 ? 0 : 1 / (at + 1);
};

const discount = (at: number): number => 1 / Math.log2(at + 2);

/** Normalised discounted cumulative gain of binary judgements. */
export const ndcgAt = (judged: Judged, wanted: number, k: number): number => {
  const gain = judged.slice(0, k).reduce((sum, isRight, at) => sum + (isRight ? discount(at) : 0), 0);
  const ideal = Array.from({ length: Math.min(wanted, k) }).reduce<number>(
    (sum, _, at) => sum + discount(at),
    0,
  );
  return ideal === 0 ? 0 : gain / ideal;
};

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** By the nearest rank: the smallest value that at least this share of the values does not exceed. */
export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
