import { createTopScored, type Scored } from "../collections/top-scored.ts";
import { type NearestRows, nearestRows } from "./nearest-rows.ts";

/** Rows fetched per row wanted, in turn, since a filter drops some. After that all rows are compared one by one. */
const FETCH_FACTORS = [1.5, 5];

/** The native cosines are rounded to 24 bits. */
const ROUNDING = 1e-5;

/** Vectors one after the other, from the start of a buffer. */
export interface VectorRows {
  readonly rows: Int8Array;
  readonly size: number;
  readonly dimensions: number;
  readonly idOf: (row: number) => number;
  /** Length of a row's vector. */
  readonly lengthOf: (row: number) => number;
}

export const lengthIn = (vectors: Int8Array, row: number, dimensions: number): number => {
  let sum = 0;
  const end = (row + 1) * dimensions;
  for (let i = row * dimensions; i < end; i++) {
    const value = vectors[i] ?? 0;
    sum = (sum + value * value) | 0;
  }
  return Math.sqrt(sum);
};

export const cosineIn = (
  { rows, dimensions, lengthOf }: VectorRows,
  query: Int8Array,
  queryLength: number,
  row: number,
): number => {
  const length = queryLength * lengthOf(row);
  if (length === 0) return 0;
  let dot = 0;
  const from = row * dimensions;
  for (let i = 0; i < dimensions; i++) dot = (dot + (rows[from + i] ?? 0) * (query[i] ?? 0)) | 0;
  return dot / length;
};

export const cosineOf = (a: Int8Array, b: Int8Array): number => {
  const length = lengthIn(a, 0, a.length) * lengthIn(b, 0, b.length);
  let dot = 0;
  for (let at = 0; at < a.length; at++) dot = (dot + (a[at] ?? 0) * (b[at] ?? 0)) | 0;
  return length === 0 ? 0 : dot / length;
};

function* upTo(size: number): Generator<number> {
  for (let row = 0; row < size; row++) yield row;
}

/** The rows of the largest cosines, by their ids, largest first, ties by id: exact. `native` makes it faster and changes no score. */
export const searchRows = (
  vectors: VectorRows,
  native: NearestRows | undefined,
  query: Int8Array,
  limit: number,
  isWanted?: (id: number) => boolean,
): readonly Scored[] => {
  const { rows, size, dimensions, idOf } = vectors;
  const queryLength = lengthIn(query, 0, query.length);
  if (queryLength === 0 || limit <= 0 || size === 0) return [];
  const best = (candidates: Iterable<number>): readonly Scored[] => {
    const top = createTopScored(Math.min(limit, size));
    for (const row of candidates) {
      const id = idOf(row);
      if (isWanted?.(id) ?? true) top.add(id, cosineIn(vectors, query, queryLength, row));
    }
    return top.sorted();
  };
  for (const factor of native === undefined ? [] : FETCH_FACTORS) {
    if (native === undefined) break;
    const count = Math.min(Math.ceil(limit * factor), size);
    const fetched = nearestRows(native, rows.subarray(0, size * dimensions), query, count);
    const found = best(fetched);
    if (fetched.length === size) return found;
    // Rows that were not fetched are no nearer than the last fetched one: the answer is complete if it ends before that.
    const horizon = cosineIn(vectors, query, queryLength, fetched.at(-1) ?? 0);
    if (found.length >= limit && (found.at(-1)?.score ?? 0) > horizon + ROUNDING) return found;
  }
  return best(upTo(size));
};
