import { describe, expect, test } from "vitest";
import { tokenCounter } from "./tokens.ts";

describe("counting tokens", () => {
  test("REQ-D7: a text is counted as the tokenizer counts it, special tokens as ordinary text", async () => {
    const count = await tokenCounter();
    expect(count("hello world")).toBe(2);
    expect(count("")).toBe(0);
    expect(count("<|endoftext|>")).toBeGreaterThan(1);
  });

  test.each([
    ["letters", "a".repeat(262_144)],
    ["spaces", " ".repeat(262_144)],
    ["pictures", "😀".repeat(65_536)],
    ["marks", "e\u0301".repeat(131_072)],
    ["dashes", "-".repeat(262_144)],
    ["line ends", "\n".repeat(262_144)],
    ["one long word in a text", `some words ${"x".repeat(262_144)} and more`],
  ])(
    "FAIL-D6: a quarter of a megabyte of %s holds nobody up",
    async (_what, text) => {
      const count = await tokenCounter();
      const tokens = count(text);
      expect(tokens).toBeGreaterThan(0);
      expect(tokens).toBeLessThanOrEqual(text.length);
      // Unbounded, each of these takes minutes: the test's own time limit is the assertion.
    },
    5000,
  );

  test("a run in pieces is counted nearly as it is whole", async () => {
    const count = await tokenCounter();
    const word = "internationalisation".repeat(12);
    const whole = count(word);
    const long = word.repeat(4);
    expect(Math.abs(count(long) - whole * 4)).toBeLessThanOrEqual(8);
  });
});
