/**
 * Keeps the first items by an order, up to a total weight, whatever the order of insertion. Dropped items can never be
 * among the first. Holds three times the weight at most, where no item weighs more than that alone.
 */
export const createBest = <T>(
  maxWeight: number,
  compare: (a: T, b: T) => number,
  weightOf: (item: T) => number,
) => {
  let kept: T[] = [];
  let addedWeight = 0;
  let last: T | undefined;

  const trim = (): void => {
    kept.sort(compare);
    addedWeight = 0;
    let weight = 0;
    const full = kept.findIndex((item) => {
      weight += weightOf(item);
      return weight >= maxWeight;
    });
    if (full < 0) return;
    kept = kept.slice(0, full + 1);
    last = kept[full];
  };

  const admits = (item: T): boolean => last === undefined || compare(item, last) < 0;
  return {
    /** False: it would be dropped, so there is no need to build it. */
    admits,
    add: (item: T): void => {
      if (!admits(item)) return;
      kept.push(item);
      addedWeight += weightOf(item);
      if (addedWeight >= maxWeight) trim();
    },
    sorted: (): readonly T[] => {
      trim();
      return kept;
    },
  };
};
