/**
 * What is evicted when there are too many: the oldest entry of the principal that has the most, so that nobody loses
 * something because another takes everything. The map holds the oldest first.
 */
export const evictionCandidate = <K, T extends { readonly principal: string }>(
  all: ReadonlyMap<K, T>,
  mayEvict: (item: T) => boolean = () => true,
): K | undefined => {
  const counts = new Map<string, number>();
  const countOf = (principal: string): number => counts.get(principal) ?? 0;
  for (const { principal } of all.values()) counts.set(principal, countOf(principal) + 1);
  let first: { readonly key: K; readonly count: number } | undefined;
  for (const [key, item] of all) {
    const count = countOf(item.principal);
    if (mayEvict(item) && count > (first?.count ?? 0)) first = { key, count };
  }
  return first?.key;
};
