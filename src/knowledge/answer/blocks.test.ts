import { expect, test } from "vitest";
import { blocksOf } from "./blocks.ts";
import { unitsOf } from "./units.ts";

const blocks = (text: string): readonly string[] =>
  blocksOf(text).map(({ start, end }) => text.slice(start, end).trimEnd());

test.each<[what: string, text: string, found: readonly string[]]>([
  ["a fence", "a\n```js\nx\n```\nb", ["```js\nx\n```"]],
  ["a fence that a longer one ends", "~~~\nx\n~~~~ \nb", ["~~~\nx\n~~~~"]],
  ["a fence without an end", "```\nx\n\ny", ["```\nx\n\ny"]],
  ["no fence at the end", "a\n```", []],
  ["rows", "a\n| b |\n|--|\nc", ["| b |\n|--|"]],
  ["one row", "a\n| b |\nc", []],
  ["steps", "a\n1. b\n2. c\nd", ["1. b\n2. c"]],
  [
    "steps with lines below them",
    "1. b\n   more\n\n   again\n\n2) c\n\nd",
    ["1. b\n   more\n\n   again\n\n2) c"],
  ],
  ["one step", "1. b\n   more\nc", []],
  ["steps that two blank lines part", "1. b\n\n\n2. c", []],
  ["steps in a step", "1. b\n   2. c", ["1. b\n   2. c"]],
  ["a fence in a step", "1. b\n   ```\n   x\n2. c", ["1. b\n   ```\n   x\n2. c"]],
])("%s: REQ-K4", (_what, text, found) => {
  expect(blocks(text)).toEqual(found);
});

/** Each of them took an expression that goes back some 20 seconds, and would take it again. */
test.each<[what: string, text: string]>([
  ["blanks after a number", `1. ${" ".repeat(49_000)}\n${" x\n".repeat(16_000)}`],
  ["comments without an end", "<!--".repeat(100_000)],
  ["fences", "```\n".repeat(50_000)],
  ["single steps", "1. a\nb\n".repeat(30_000)],
  ["blank lines below a step", `1. a\n${"\n x".repeat(50_000)}`],
  ["marks without an end", `${"<br ".repeat(50_000)}${" ".repeat(50_000)}`],
  ["line ends", `x${"\n ".repeat(100_000)}y`],
  ["quotes after a full stop", `.${'"'.repeat(100_000)}x`],
])("%s are read in the time of other texts: REQ-K4", (_what, text) => {
  expect(unitsOf(text, "prose").length).toBeLessThan(100_000);
});
