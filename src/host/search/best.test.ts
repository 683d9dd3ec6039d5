import fc from "fast-check";
import { expect, it } from "vitest";
import { createBest } from "./best.ts";

const item = fc.record({ key: fc.nat(1000), weight: fc.integer({ min: 1, max: 10 }) });
type Item = { key: number; weight: number };

it("REQ-F6 holds exactly the first by weight, in whatever order they come", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(item, { selector: ({ key }) => key, maxLength: 200 }),
      fc.integer({ min: 10, max: 60 }),
      (items, maxWeight) => {
        const best = createBest<Item>(
          maxWeight,
          (a, b) => a.key - b.key,
          ({ weight }) => weight,
        );
        for (const one of items) best.add(one);
        const kept = best.sorted();
        const expected: Item[] = [];
        let weight = 0;
        for (const one of items.toSorted((a, b) => a.key - b.key)) {
          if (weight >= maxWeight) break;
          weight += one.weight;
          expected.push(one);
        }
        expect(kept).toEqual(expected);
      },
    ),
  );
});

it("does not admit what comes after a full load", () => {
  const best = createBest<Item>(
    2,
    (a, b) => a.key - b.key,
    () => 1,
  );
  for (const key of [5, 4, 3, 2]) best.add({ key, weight: 1 });
  expect(best.admits({ key: 9, weight: 1 })).toBe(false);
  expect(best.admits({ key: 1, weight: 1 })).toBe(true);
});
