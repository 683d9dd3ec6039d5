import { expect, it } from "vitest";
import { createTurns } from "./turns.ts";

it("stays away from a key that others wait for after a long series, and only then", () => {
  const turns = createTurns();
  expect(turns.pauseMs(["a"], 0)).toBe(0);
  for (let now = 0; now <= 160; now += 40) turns.letGo("a", now, now + 30);
  expect(turns.pauseMs(["a"], 190)).toBe(0);
  turns.letGo("a", 200, 230);
  expect(turns.pauseMs(["b", "a"], 230)).toBe(60);
  expect(turns.pauseMs(["b"], 230)).toBe(0);
  expect(turns.pauseMs(["a"], 300)).toBe(0);
});

it("begins a new series after a pause, and after a gap", () => {
  const turns = createTurns();
  turns.letGo("a", 0, 250);
  turns.letGo("a", 320, 350);
  expect(turns.pauseMs(["a"], 350)).toBe(0);
  turns.letGo("a", 1000, 1100);
  expect(turns.pauseMs(["a"], 1100)).toBe(0);
});
