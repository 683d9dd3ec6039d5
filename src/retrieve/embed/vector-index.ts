import type { Scored } from "../collections/top-scored.ts";
import type { NearestRows } from "./nearest-rows.ts";
import { cosineIn, lengthIn, searchRows, type VectorRows } from "./search-rows.ts";

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

  const vectors = (): VectorRows => ({
    rows,
    size: rowOf.size,
    dimensions,
    idOf: (row) => idOf[row] ?? 0,
    lengthOf: (row) => lengths[row] ?? 0,
  });

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
      lengths[row] = lengthIn(rows, row, dimensions);
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
    search: (query: Int8Array, limit: number, isWanted?: (chunkId: number) => boolean): readonly Scored[] =>
      searchRows(vectors(), native, query, limit, isWanted),
    /** Cosines of these chunks, in their order; 0 for one that is not here. */
    score: (query: Int8Array, chunkIds: readonly number[]): readonly number[] => {
      const all = vectors();
      const queryLength = lengthIn(query, 0, query.length);
      return chunkIds.map((id) => {
        const row = rowOf.get(id);
        return row === undefined ? 0 : cosineIn(all, query, queryLength, row);
      });
    },
  };
};

export type VectorIndex = ReturnType<typeof createVectorIndex>;
