import { describe, expect, test } from "vitest";
import { createTopScored, type Scored } from "./top-scored.ts";

/** The same numbers each time; few different scores, so that many are equal. */
const scoredOf = (count: number, seed: number): readonly Scored[] => {
  let state = seed;
  return Array.from({ length: count }, (_, id) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return { id: (id * 7919) % count, score: state % 50 };
  });
};

describe("the best results", () => {
  const bestOf = (all: readonly Scored[], limit: number): readonly Scored[] =>
    all.toSorted((a, b) => b.score - a.score || a.id - b.id).slice(0, limit);

  test.each([0, 1, 2, 3, 10, 199, 500, 600])("%i of them are those of a full sort, ties by id", (limit) => {
    for (const seed of [1, 2, 3]) {
      const all = scoredOf(500, seed);
      const top = createTopScored(limit);
      for (const [at, { id, score }] of all.entries()) {
        const before = bestOf(all.slice(0, at), limit);
        const isBetter = bestOf(all.slice(0, at + 1), limit).some((one) => one.id === id);
        if (at % 25 === 0) {
          expect(top.accepts(id, score)).toBe(isBetter);
          if (limit > 0)
            expect(top.floor()).toBe(
              before.length < limit ? Number.NEGATIVE_INFINITY : (before.at(-1)?.score ?? 0),
            );
        }
        top.add(id, score);
      }
      expect(top.sorted()).toEqual(bestOf(all, limit));
    }
  });
});
