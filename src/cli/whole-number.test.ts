import { expect, test } from "vitest";
import { wholeNumber } from "./whole-number.ts";

test("REQ-C4 a number out of bounds is told both of them", () => {
  expect(wholeNumber("--days", "36500", { min: 1, max: 36_500 })).toBe(36_500);
  expect(() => wholeNumber("--days", "36501", { min: 1, max: 36_500 })).toThrow(
    "--days takes a whole number from 1 to 36500.",
  );
  expect(() => wholeNumber("--keep", "-1", { min: 0 })).toThrow("--keep takes a whole number of at least 0.");
});
