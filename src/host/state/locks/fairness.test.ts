import { expect, it } from "vitest";
import { createFairness } from "./locks.ts";

it("stays away from a key that others wait for after a long series, and only then", () => {
  const fairness = createFairness();
  expect(fairness.pauseMs(["a"], 0)).toBe(0);
  for (let now = 0; now <= 160; now += 40) fairness.released("a", now, now + 30);
  expect(fairness.pauseMs(["a"], 190)).toBe(0);
  fairness.released("a", 200, 230);
  expect(fairness.pauseMs(["b", "a"], 230)).toBe(60);
  expect(fairness.pauseMs(["b"], 230)).toBe(0);
  expect(fairness.pauseMs(["a"], 300)).toBe(0);
});

it("begins a new series after a pause, and after a gap", () => {
  const fairness = createFairness();
  fairness.released("a", 0, 250);
  fairness.released("a", 320, 350);
  expect(fairness.pauseMs(["a"], 350)).toBe(0);
  fairness.released("a", 1000, 1100);
  expect(fairness.pauseMs(["a"], 1100)).toBe(0);
});
