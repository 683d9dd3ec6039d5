/** Edit distance of two names; counting stops beyond `limit`. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    let best = i;
    for (let j = 1; j <= b.length; j++) {
      const cost = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
      next.push(cost);
      if (cost < best) best = cost;
    }
    if (best > limit) return limit + 1;
    row = next;
  }
  return row[b.length] ?? limit + 1;
};

const MAX_WORD = 100;
const COUNT = 5;

/** Names similar to one that nothing has: in another case, a few edits away, or containing it. */
export const suggest = (query: string, names: Iterable<string>): readonly string[] => {
  const wanted = (query.split(/[.:#\\/]+/).at(-1) ?? "").toLowerCase().slice(0, MAX_WORD);
  if (wanted === "") return [];
  const plain = wanted.replaceAll("_", "");
  const limit = wanted.length <= 4 ? 1 : wanted.length <= 8 ? 2 : 3;
  const scored: { readonly name: string; readonly score: number }[] = [];
  for (const name of names) {
    if (name.length > MAX_WORD) continue;
    const small = name.toLowerCase();
    let score: number;
    if (small === wanted || small.replaceAll("_", "") === plain) score = 0;
    else {
      const edits = distance(wanted, small, limit);
      if (edits <= limit) score = edits;
      else if (wanted.length >= 3 && small.includes(wanted))
        score = limit + 1 + (small.length - wanted.length) / MAX_WORD;
      else continue;
    }
    scored.push({ name, score });
  }
  return scored
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, COUNT)
    .map(({ name }) => name);
};
