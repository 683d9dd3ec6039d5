/** Finds the row of an offset in a text. Both are counted from 0. */
export const createLineFinder = (text: string) => {
  const found = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) found.push(at + 1);
  const starts = Int32Array.from(found);
  // Offsets mostly come in the order of the text: the search begins at the row of the last one.
  let last = 0;
  const rowAt = (offset: number): number => {
    let low = 0;
    let high = starts.length - 1;
    if ((starts[last] ?? 0) <= offset) {
      const next = starts[last + 1];
      if (next === undefined || offset < next) return last;
      low = last;
    } else high = Math.max(0, last - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    last = low;
    return low;
  };
  return {
    /** Offset of each row's first character. */
    starts,
    rowAt,
  };
};
