/** Discounted gain of the answers within the first k, over that of the best order; every answer counts the same. */
export const ndcgAt = (ranked: readonly string[], gold: ReadonlySet<string>, k: number): number => {
  const gain = (rank: number): number => 1 / Math.log2(rank + 2);
  let sum = 0;
  ranked.slice(0, k).forEach((path, rank) => {
    if (gold.has(path)) sum += gain(rank);
  });
  let best = 0;
  for (let rank = 0; rank < Math.min(k, gold.size); rank++) best += gain(rank);
  return best === 0 ? 0 : sum / best;
};

export const reciprocalRank = (ranked: readonly string[], gold: ReadonlySet<string>): number => {
  const rank = ranked.findIndex((path) => gold.has(path));
  return rank < 0 ? 0 : 1 / (rank + 1);
};

export const recallAt = (ranked: readonly string[], gold: ReadonlySet<string>, k: number): number =>
  gold.size === 0 ? 0 : ranked.slice(0, k).filter((path) => gold.has(path)).length / gold.size;

export const average = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** The mean of the groups' means, so that a large group counts no more than a small one. */
export const averageBy = <T>(
  items: readonly T[],
  keys: readonly ((item: T) => string)[],
  value: (item: T) => number,
): number => {
  const [key, ...rest] = keys;
  if (key === undefined) return average(items.map(value));
  return average([...Map.groupBy(items, key).values()].map((group) => averageBy(group, rest, value)));
};
