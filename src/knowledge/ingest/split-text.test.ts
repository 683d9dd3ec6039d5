import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_PASSAGE_CHARS, splitText } from "./split-text.ts";

test("no part is longer than the largest size, whatever lies between its paragraphs: REQ-K1", () => {
  const spread = Array.from({ length: 9 }, (_, at) => `Paragraph ${at}.${"\n".repeat(at * 500)}`).join(
    "\n\n",
  );
  const line = fc.constantFrom("", " ".repeat(300), "A sentence. ".repeat(20), "x".repeat(700), "word");
  const texts = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(texts, (text) => {
      for (const part of splitText(text)) expect(part.text.length).toBeLessThanOrEqual(MAX_PASSAGE_CHARS);
    }),
  );
  const parts = splitText(spread);
  expect(parts.every(({ text }) => text.length <= MAX_PASSAGE_CHARS)).toBe(true);
  expect(parts.map(({ text }) => text).join("\n")).toContain("Paragraph 8.");
});
