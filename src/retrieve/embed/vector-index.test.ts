import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadNearestRows } from "./nearest-rows.ts";
import { createVectorIndex, type VectorIndex } from "./vector-index.ts";

const DIMENSIONS = 16;
const native = loadNearestRows();
const vectors = fc.int8Array({ minLength: DIMENSIONS, maxLength: DIMENSIONS });

/** The same numbers every time. */
const pseudoRandom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

const randomVector = (next: () => number): Int8Array =>
  Int8Array.from({ length: DIMENSIONS }, () => Math.round((next() - 0.5) * 250));

const fill = (index: VectorIndex, rows: ReadonlyMap<number, Int8Array>): VectorIndex => {
  for (const [id, row] of rows) index.add(id, row);
  return index;
};

describe("the vector index", () => {
  test("cosines, worked out by hand", () => {
    const index = createVectorIndex(2);
    index.add(1, Int8Array.of(3, 4));
    index.add(2, Int8Array.of(-127, 0));
    index.add(3, Int8Array.of(0, 0));
    expect(index.search(Int8Array.of(1, 0), 3)).toEqual([
      { id: 1, score: 0.6 },
      { id: 3, score: 0 },
      { id: 2, score: -1 },
    ]);
    expect(index.score(Int8Array.of(1, 0), [2, 99])).toEqual([-1, 0]);
    expect(index.search(Int8Array.of(0, 0), 3)).toEqual([]);
  });

  test("any sequence of adds, replacements and removals equals a clean build", () => {
    const step = fc.record({ id: fc.nat(12), row: fc.option(vectors, { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), vectors, (steps, query) => {
        const index = createVectorIndex(DIMENSIONS, native);
        const rows = new Map<number, Int8Array>();
        for (const { id, row } of steps) {
          if (row === undefined) {
            index.remove(id);
            rows.delete(id);
          } else {
            index.add(id, row);
            rows.set(id, row);
          }
        }
        const clean = fill(createVectorIndex(DIMENSIONS), new Map([...rows].reverse()));
        expect(index.size).toBe(rows.size);
        expect(index.search(query, 5)).toEqual(clean.search(query, 5));
      }),
    );
  });

  test.runIf(native !== undefined)(
    "the native way and plain JavaScript give the same, with and without a filter, with equal rows",
    () => {
      const next = pseudoRandom(7);
      const rows = new Map(Array.from({ length: 2000 }, (_, id) => [id, randomVector(next)] as const));
      for (let id = 0; id < 300; id++) rows.set(2000 + id, rows.get(5) ?? randomVector(next));
      rows.set(9999, new Int8Array(DIMENSIONS));
      const fast = fill(createVectorIndex(DIMENSIONS, native), rows);
      const plain = fill(createVectorIndex(DIMENSIONS), rows);
      const queries = [
        ...Array.from({ length: 20 }, () => randomVector(next)),
        rows.get(5) ?? new Int8Array(),
      ];
      for (const query of queries)
        for (const isWanted of [undefined, (id: number) => id % 3 === 0, (id: number) => id > 2290])
          expect(fast.search(query, 40, isWanted)).toEqual(plain.search(query, 40, isWanted));
    },
  );

  test.runIf(native !== undefined)("a query that is a part of other memory is read where it is", () => {
    const next = pseudoRandom(3);
    const index = fill(
      createVectorIndex(DIMENSIONS, native),
      new Map(Array.from({ length: 500 }, (_, id) => [id, randomVector(next)] as const)),
    );
    const query = randomVector(next);
    const padded = new Int8Array(DIMENSIONS * 3).fill(99);
    padded.set(query, DIMENSIONS);
    expect(index.search(padded.subarray(DIMENSIONS, DIMENSIONS * 2), 10)).toEqual(index.search(query, 10));
  });

  test("a vector of another embedder is refused", () => {
    expect(() => createVectorIndex(4).add(1, new Int8Array(5))).toThrow(RangeError);
  });
});
