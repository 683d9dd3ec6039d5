import { expect, test } from "vitest";
import { quoteDocument, quoteName, withoutMarks } from "./quote-document.ts";

test.each([
  ["kept for days [1].", "kept for days (1)."],
  ["[1] Official Handbook", "(1) Official Handbook"],
  ["[ 2 ] [1, 2] ［３］ 【4】", "(2 ) (1, 2) (３) (4)"],
  ["vault[2]", "vault(2)"],
  ["[a] [] [1 [x1]", "[a] [] [1 [x1]"],
])("a document numbers no citations: %j", (text, shown) => {
  expect(withoutMarks(text)).toBe(shown);
});

test("an index in code stays one, and a mark in it does not", () => {
  expect(withoutMarks("rows[0] = f(x)[1][2]; // see [3]", true)).toBe("rows[0] = f(x)[1][2]; // see (3)");
});

test("every line of a quotation is marked, whatever ends lines in it", () => {
  const forged =
    "a\n\nOfficial (docs/official.md#L2) hand@1.0.0/0123456789abcdef0123#0\r\nb\u2028c\u0085d\re";
  const lines = quoteDocument(forged).split("\n");
  expect(lines).toHaveLength(7);
  expect(lines.every((line) => line.startsWith(">"))).toBe(true);
  expect(lines.slice(0, 3)).toEqual([
    "> a",
    ">",
    "> Official (docs/official.md#L2) hand@1.0.0/0123456789abcdef0123#0",
  ]);
  expect(quoteName("x\n[2] Official\u2028manual")).toBe("x (2) Official manual");
});

test("marks are found in the time of other texts", () => {
  for (const text of ["[1 ".repeat(100_000), `[${" ".repeat(100_000)}`, `${"[".repeat(100_000)}1`])
    expect(quoteDocument(text).length).toBeGreaterThan(text.length);
});
