import { createTopScored, type Scored } from "../collections/top-scored.ts";
import { type NearestRows, nearestRows } from "./nearest-rows.ts";

/** Rows fetched per row wanted, in turn, since a filter drops some. After that all rows are compared one by one. */
const FETCH_FACTORS = [1.5, 5];

/** The native cosines are rounded to 24 bits. */
const ROUNDING = 1e-5;

const squareOf = (vector: Int8Array, from: number, length: number): number => {
  let sum = 0;
  for (let i = from; i < from + length; i++) sum += (vector[i] ?? 0) ** 2;
  return sum;
};

/** Exact search over all rows, in one array without holes. `native` makes it faster and changes no score. */
export const createVectorIndex = (dimensions: number, native?: NearestRows) => {
  let rows = new Int8Array(dimensions * 256);
  let lengths = new Float64Array(256);
  let idOf = new Float64Array(256);
  const rowOf = new Map<number, number>();

  const grow = (): void => {
    const more = new Int8Array(rows.length * 2);
    more.set(rows);
    rows = more;
    const longer = new Float64Array(lengths.length * 2);
    longer.set(lengths);
    lengths = longer;
    const ids = new Float64Array(idOf.length * 2);
    ids.set(idOf);
    idOf = ids;
  };

  const cosine = (query: Int8Array, queryLength: number, row: number): number => {
    const length = queryLength * (lengths[row] ?? 0);
    if (length === 0) return 0;
    let dot = 0;
    const from = row * dimensions;
    for (let i = 0; i < dimensions; i++) dot = (dot + (rows[from + i] ?? 0) * (query[i] ?? 0)) | 0;
    return dot / length;
  };

  const nearest = (search: NearestRows | undefined, query: Int8Array, wanted: number): readonly number[] => {
    const count = Math.min(wanted, rowOf.size);
    return count === 0 || search === undefined
      ? []
      : nearestRows(search, rows.subarray(0, rowOf.size * dimensions), query, count);
  };

  return {
    get size(): number {
      return rowOf.size;
    },
    /** Replaces a chunk of the same id. Ids are whole numbers. */
    add: (chunkId: number, vector: Int8Array): void => {
      if (vector.length !== dimensions)
        throw new RangeError(`A vector of ${vector.length} numbers in an index of ${dimensions}.`);
      let row = rowOf.get(chunkId);
      if (row === undefined) {
        row = rowOf.size;
        if (row === idOf.length) grow();
        rowOf.set(chunkId, row);
        idOf[row] = chunkId;
      }
      rows.set(vector, row * dimensions);
      lengths[row] = Math.sqrt(squareOf(vector, 0, dimensions));
    },
    remove: (chunkId: number): void => {
      const row = rowOf.get(chunkId);
      if (row === undefined) return;
      rowOf.delete(chunkId);
      const last = rowOf.size;
      if (row === last) return;
      const id = idOf[last] ?? 0;
      rows.copyWithin(row * dimensions, last * dimensions, (last + 1) * dimensions);
      lengths[row] = lengths[last] ?? 0;
      idOf[row] = id;
      rowOf.set(id, row);
    },
    /** The chunks of the largest cosines, largest first, ties by id. */
    search: (query: Int8Array, limit: number, isWanted?: (chunkId: number) => boolean): readonly Scored[] => {
      const queryLength = Math.sqrt(squareOf(query, 0, query.length));
      if (queryLength === 0 || limit <= 0) return [];
      const best = (candidates: Iterable<number>): readonly Scored[] => {
        const top = createTopScored(Math.min(limit, rowOf.size));
        for (const row of candidates) {
          const id = idOf[row] ?? 0;
          if (isWanted?.(id) ?? true) top.add(id, cosine(query, queryLength, row));
        }
        return top.sorted();
      };
      for (const factor of native === undefined ? [] : FETCH_FACTORS) {
        const fetched = nearest(native, query, Math.ceil(limit * factor));
        const found = best(fetched);
        if (fetched.length === rowOf.size) return found;
        // Rows that were not fetched are no nearer than the last fetched one: the answer is complete if it ends before that.
        const horizon = cosine(query, queryLength, fetched.at(-1) ?? 0);
        if (found.length >= limit && (found.at(-1)?.score ?? 0) > horizon + ROUNDING) return found;
      }
      return best(rowOf.values());
    },
    /** Cosines of these chunks, in their order; 0 for one that is not here. */
    score: (query: Int8Array, chunkIds: readonly number[]): readonly number[] => {
      const queryLength = Math.sqrt(squareOf(query, 0, query.length));
      return chunkIds.map((id) => {
        const row = rowOf.get(id);
        return row === undefined ? 0 : cosine(query, queryLength, row);
      });
    },
  };
};

export type VectorIndex = ReturnType<typeof createVectorIndex>;
