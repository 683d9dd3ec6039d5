import { expect, test } from "vitest";
import { filterInTurns } from "./filter-in-turns.ts";

test("FAIL-D6 many slow judgements leave others their turns", async () => {
  let turns = 0;
  let pending = setImmediate(function count() {
    turns++;
    pending = setImmediate(count);
  });
  const isEven = (item: number): boolean => {
    const endsAt = performance.now() + 5;
    while (performance.now() < endsAt);
    return item % 2 === 0;
  };
  const kept = await filterInTurns([...Array(40).keys()], isEven);
  clearImmediate(pending);
  expect(kept).toHaveLength(20);
  expect(turns).toBeGreaterThan(10);
});
