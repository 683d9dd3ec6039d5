import { expect, test } from "vitest";
import { budgetOf } from "./settings.ts";

test("REQ-X6 a profile has the budget that is configured for it, never more than everybody's", () => {
  const settings = {
    sessionTokenBudget: 1000,
    budgetProfiles: ["M5-debug 200", "big 5_000", "odd x", "zero 0"],
  };
  expect(budgetOf(settings, "M5-debug")).toBe(200);
  expect(budgetOf(settings, "big")).toBe(1000);
  expect(budgetOf({ ...settings, sessionTokenBudget: 0 }, "big")).toBe(5000);
  for (const profile of ["", undefined, "unknown", "odd", "zero", "M5"])
    expect(budgetOf(settings, profile)).toBe(1000);
});
