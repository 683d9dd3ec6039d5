import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkAnswer } from "./check-answer.ts";

const LIMITS = { maxChars: 100, maxSections: 3, maxPages: 1 };
const SECTION = { headings: ["One"], text: "text", kind: "prose" };
const DOCUMENT = { title: "T", format: "markdown", sections: [SECTION], warnings: [] };

const check = (answer: unknown) => checkAnswer(Buffer.from(JSON.stringify(answer)), LIMITS);
const withSection = (more: object): object => ({
  document: { ...DOCUMENT, sections: [{ ...SECTION, ...more }] },
});

describe("answers of a process that may be hostile", () => {
  test("what has the shape of an answer passes, and nothing else of it", () => {
    const answer = check({
      document: {
        ...DOCUMENT,
        extra: 1,
        licence: "MIT License",
        version: "1.0",
        sections: [{ ...SECTION, extra: 1 }],
      },
      extra: 1,
    });
    expect(JSON.parse(JSON.stringify(answer))).toEqual({
      document: { ...DOCUMENT, licence: "MIT", version: "1.0" },
    });
    expect(check({ failure: { code: "invalid_args", message: "Damaged.", extra: 1 } })).toEqual({
      failure: { code: "invalid_args", message: "Damaged." },
    });
  });

  test("a licence is an expression of SPDX, or none; an anchor has no blanks", () => {
    expect(check({ document: { ...DOCUMENT, licence: "MIT OR Apache-2.0" } })).toMatchObject({
      document: { licence: "MIT OR Apache-2.0" },
    });
    expect(check({ document: { ...DOCUMENT, licence: "<script>" } })).toMatchObject({
      document: { licence: undefined },
    });
    expect(check(withSection({ anchor: "a b" }))).toMatchObject({
      document: { sections: [{ anchor: undefined }] },
    });
  });

  test.each<[what: string, answer: unknown]>([
    ["nothing", null],
    ["a list", []],
    ["no document", {}],
    ["another format", { document: { ...DOCUMENT, format: "exe" } }],
    ["a title of two lines", { document: { ...DOCUMENT, title: "a\nb" } }],
    ["a title that is too long", { document: { ...DOCUMENT, title: "x".repeat(501) } }],
    ["too many sections", { document: { ...DOCUMENT, sections: [SECTION, SECTION, SECTION, SECTION] } }],
    ["too much text", withSection({ text: "x".repeat(101) })],
    ["controls in a text", withSection({ text: "\u001b[31m" })],
    ["half a surrogate", withSection({ text: "\ud800" })],
    ["a text that is none", withSection({ text: { toString: "x" } })],
    ["another kind", withSection({ kind: "script" })],
    ["headings that are none", withSection({ headings: "x" })],
    ["too many headings", withSection({ headings: Array(13).fill("x") })],
    ["a page before the first", withSection({ page: 0 })],
    ["a page that is no number", withSection({ page: "1" })],
    ["lines that end before they start", withSection({ startLine: 2, endLine: 1 })],
    ["half a range of lines", withSection({ startLine: 2 })],
    ["warnings that are too many", { document: { ...DOCUMENT, warnings: Array(101).fill("x") } }],
    ["an unknown code", { failure: { code: "forbidden", message: "x" } }],
    ["a message of two lines", { failure: { code: "invalid_args", message: "x\ny" } }],
  ])("%s is refused", (_what, answer) => {
    expect(() => check(answer)).toThrow(TypeError);
  });

  test("whatever it sends, it is an answer within the limits or an error", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.constantFrom("document", "failure", "x"),
        (value, key) => {
          let answer: ReturnType<typeof check>;
          try {
            answer = check({ [key]: value });
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(TypeError);
            return;
          }
          if ("document" in answer)
            expect(answer.document.sections.length).toBeLessThanOrEqual(LIMITS.maxSections);
        },
      ),
    );
  });
});
