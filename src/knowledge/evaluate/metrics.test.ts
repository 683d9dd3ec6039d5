import { expect, test } from "vitest";
import { percentile } from "./metrics.ts";

test("REQ-K7: a percentile is the value of the nearest rank", () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, at) => count - at);
  expect([percentile(upTo(20), 0.95), percentile(upTo(100), 0.95), percentile(upTo(20), 1)]).toEqual([
    19, 95, 20,
  ]);
  expect([percentile([7], 0.95), percentile([7], 0), percentile([], 0.95)]).toEqual([7, 7, 0]);
});
