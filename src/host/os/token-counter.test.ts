import { readFileSync } from "node:fs";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { tokenCounter } from "./token-counter.ts";

describe("counting tokens", () => {
  test("REQ-D7: a text is counted as the tokenizer counts it, special tokens as ordinary text", async () => {
    const count = await tokenCounter();
    expect(count("hello world")).toBe(2);
    expect(count("")).toBe(0);
    expect(count("<|endoftext|>")).toBeGreaterThan(1);
  });

  test("REQ-D7: any text has as many tokens as the tokenizer gives it", async () => {
    const count = await tokenCounter();
    const asIs = (text: string): number => countTokens(text, { disallowedSpecial: new Set() });
    const source = readFileSync(new URL("./token-counter.ts", import.meta.url), "utf8");
    for (const text of [source, source.replaceAll("\n", "\r\n"), "it's I'LL \n\n\t x\n  12345 <|endoftext|>"])
      expect(count(text)).toBe(asIs(text));
    const letters = fc.constantFrom(
      ..."abZ019 \n\r\t_-/<|>'\"{}é漢😀\u0301\u200b\uD800".split(""),
      "'s",
      "<|im_end|>",
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(letters, fc.string({ unit: "grapheme", maxLength: 4 })), { maxLength: 60 }),
        (parts) => {
          expect(count(parts.join(""))).toBe(asIs(parts.join("")));
        },
      ),
      { numRuns: 500 },
    );
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
