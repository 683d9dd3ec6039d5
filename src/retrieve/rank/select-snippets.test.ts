import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokenCounter } from "../../host/os/token-counter.ts";
import type { RankedChunk } from "./chunk-index.ts";
import { selectSnippets } from "./select-snippets.ts";

const countTokens = await tokenCounter();

const chunk = (id: number): RankedChunk => ({
  id,
  path: `f${id}.ts`,
  language: "typescript",
  startLine: 10,
  endLine: 12,
  kind: "code",
  name: "",
  defines: [],
  score: 1 / id,
  relevance: 1,
});

const select = (texts: readonly (string | undefined)[], k: number, budgetTokens: number) =>
  selectSnippets(
    texts.map((_, at) => chunk(at + 1)),
    { k, budgetTokens },
    ({ id }) => {
      const text = texts[id - 1];
      return text === undefined ? undefined : { text, startLine: 10, endLine: 9 + text.split("\n").length };
    },
    countTokens,
  );

describe("selecting snippets within a budget: REQ-R4", () => {
  test("whole ones, best first, no more than k", () => {
    const found = select(["one", "two", "three"], 2, 1000);
    expect(found.map(({ text, cut }) => [text, cut])).toEqual([
      ["one", false],
      ["two", false],
    ]);
  });

  const long = Array.from({ length: 100 }, (_, at) => `const value${at} = compute(${at});`).join("\n");

  test("a long one is cut, so that each after it has at least half of an equal part", () => {
    const found = select([long, long, long, long], 3, 600);
    expect(found.map(({ cut }) => cut)).toEqual([true, true, true]);
    for (const { text } of found) expect(countTokens(text)).toBeGreaterThan(85);
    expect(countTokens(found[0]?.text ?? "")).toBeGreaterThan(385);
    expect(
      select([long, "after"], 3, 600)
        .map(({ text }) => text)
        .at(-1),
    ).toBe("after");
  });

  test("one that is cut ends at a line, and says so", () => {
    const [only, ...others] = select([long], 5, 120);
    expect(others).toEqual([]);
    expect(only?.cut).toBe(true);
    expect(long.startsWith(`${only?.text}\n`)).toBe(true);
    expect(only?.endLine).toBe(9 + (only?.text.split("\n").length ?? 0));
    expect(countTokens(only?.text ?? "")).toBeLessThanOrEqual(120);
    expect(countTokens(only?.text ?? "")).toBeGreaterThan(90);
  });

  test("what is gone from the disk is passed over", () => {
    expect(select([undefined, "two"], 1, 100).map(({ path }) => path)).toEqual(["f2.ts"]);
  });

  test("a first line larger than the budget gives way to the next chunk", () => {
    expect(select(["word ".repeat(500)], 1, 20)).toEqual([]);
    expect(select(["word ".repeat(500), "small"], 1, 20).map(({ text }) => text)).toEqual(["small"]);
  });

  test("never over the budget, whatever the texts", () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "\n", " ", "😀", "é", "{", "foo ", "日"),
      maxLength: 200,
    });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), fc.integer({ min: 0, max: 120 }), (texts, budget) => {
        const found = select(texts, 10, budget);
        expect(found.reduce((sum, one) => sum + countTokens(one.text), 0)).toBeLessThanOrEqual(budget);
      }),
    );
  });
});
