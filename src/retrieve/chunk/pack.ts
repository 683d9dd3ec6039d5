import type { Atom } from "./atoms.ts";
import type { Lines } from "./lines.ts";
import type { Sizes } from "./sizes.ts";

/** Rows of one chunk, inclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** 0 at the target size, 1 at size 0 and at twice the target. */
const sizeCost = (chars: number, rows: number, sizes: Sizes): number => {
  const size = Math.max(chars / sizes.targetChars, rows / sizes.targetRows);
  return (size - 1) ** 2;
};

/** Joins neighbouring atoms to chunks of about the target size, so that the cuts of the whole file cost least. */
export const pack = (lines: Lines, atoms: readonly Atom[], sizes: Sizes): Span[] => {
  const best = new Float64Array(atoms.length + 1).fill(Number.POSITIVE_INFINITY);
  const from = new Int32Array(atoms.length + 1);
  best[0] = 0;
  for (let end = 1; end <= atoms.length; end++) {
    const last = atoms[end - 1];
    let joins = 0;
    for (let at = end - 1; at >= 0; at--) {
      const first = atoms[at];
      if (last === undefined || first === undefined) break;
      const chars = lines.chars(first.from, last.to);
      const rows = last.to - first.from + 1;
      if (at < end - 1 && (chars > sizes.maxChars || rows > sizes.maxRows)) break;
      const cost = (best[at] ?? 0) + first.cut + joins + sizeCost(chars, rows, sizes);
      if (cost < (best[end] ?? 0)) {
        best[end] = cost;
        from[end] = at;
      }
      if (first.opens === true) break;
      joins += first.join;
    }
  }
  const spans: Span[] = [];
  for (let end = atoms.length; end > 0; end = from[end] ?? 0) {
    const first = atoms[from[end] ?? 0];
    const last = atoms[end - 1];
    if (first !== undefined && last !== undefined) spans.push({ from: first.from, to: last.to });
  }
  return spans.reverse();
};
