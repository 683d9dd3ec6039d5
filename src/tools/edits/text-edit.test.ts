import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyEdits as applyWithin, type TextEdit } from "./text-edit.ts";

const edit = (oldText: string, newText: string, expectedReplacements = 1) => ({
  oldText,
  newText,
  expectedReplacements,
});

const MAX_CHARS = 64 * 1024 * 1024;
const applyEdits = (text: string, edits: readonly TextEdit[]): string => applyWithin(text, edits, MAX_CHARS);

describe("REQ-F5: find and replace", () => {
  test("one, several in a row, and a counted number", () => {
    expect(applyEdits("a b c", [edit("b", "B")])).toBe("a B c");
    expect(applyEdits("one two", [edit("one", "1"), edit("1 two", "1 2")])).toBe("1 2");
    expect(applyEdits("x x x", [edit("x", "y", 3)])).toBe("y y y");
    expect(applyEdits("cost", [edit("cost", "$& $1 $$")])).toBe("$& $1 $$");
  });

  test("text that is not there shows the nearest place", () => {
    const file = "import a\n\nexport const total = (items) => {\n    return items.length;\n};\n";
    expect(() => applyEdits(file, [edit("export const total = (item) => {\n  return", "")])).toThrow(
      expect.objectContaining({
        code: "text_not_found",
        hint: expect.stringContaining("from line 3:\nexport const total = (items) => {"),
      }),
    );
    expect(() => applyEdits("abc\n", [edit("completely other words", "")])).toThrow(
      expect.objectContaining({
        code: "text_not_found",
        hint: expect.stringContaining("Read the file again"),
      }),
    );
  });

  test("text that is there too often says where; an empty one is refused; the number of a failing edit is named", () => {
    expect(() => applyEdits("x\nx\n\nx\n", [edit("x", "y")])).toThrow(
      expect.objectContaining({
        code: "text_ambiguous",
        message: expect.stringContaining("3 times (lines 1, 2, 4), expected 1"),
      }),
    );
    expect(() => applyEdits("x", [edit("", "y")])).toThrow(expect.objectContaining({ code: "invalid_args" }));
    expect(() => applyEdits("ab", [edit("a", "A"), edit("zzz", "")])).toThrow(/^Edit 2: /);
  });

  test("FAIL-A14: a file with CRLF keeps it", () => {
    expect(applyEdits("a\r\nb\r\nc\r\n", [edit("a\nb", "1\n2")])).toBe("1\r\n2\r\nc\r\n");
    expect(applyEdits("a\r\nb", [edit("a\r\nb", "x\ny")])).toBe("x\ny");
  });

  test("property: replacing what was inserted gives the text back", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (before, after, replacement) => {
        const marked = `${before}\u0001MARK\u0001${after}`;
        expect(applyEdits(marked, [edit("\u0001MARK\u0001", replacement)])).toBe(
          before + replacement + after,
        );
      }),
    );
  });

  test("many replacements, of letters that mean something in patterns", () => {
    const edits = [edit("a", "$&", 30_001)];
    expect(applyEdits(`${"a".repeat(30_000)}-a-`, edits)).toBe(`${"$&".repeat(30_000)}-$&-`);
    expect(() => applyEdits("a".repeat(30_000), [edit("a", "b", 29_999)])).toThrow(
      expect.objectContaining({ code: "text_ambiguous", details: { found: 30_000 } }),
    );
  });
});

describe("FAIL-J6: edits are bounded before memory is taken", () => {
  const tooLarge = expect.objectContaining({ code: "file_too_large" });

  test("a text that would outgrow the limit, in one step or on the way", () => {
    expect(() => applyWithin("aaa", [edit("a", "aaaa", 3)], 11)).toThrow(tooLarge);
    expect(applyWithin("aaa", [edit("a", "aaaa", 3)], 12)).toHaveLength(12);
    const there = edit("a", "a".repeat(10));
    expect(() => applyWithin("a", [there, edit("a".repeat(10), "a")], 9)).toThrow(/^Edit 1: /);
  });

  test("line ends that are fitted count as well", () => {
    expect(() => applyWithin("a\r\nb", [edit("a\nb", "a\n\n\nb")], 7)).toThrow(tooLarge);
  });

  test("more work than a call may be", () => {
    const text = "a".repeat(20_000_000);
    expect(() =>
      applyEdits(
        text,
        Array.from({ length: 100 }, () => edit("b", "c")),
      ),
    ).toThrow(tooLarge);
    expect(() => applyEdits(text, [edit("a", "b", text.length)])).toThrow(tooLarge);
    expect(() =>
      applyEdits(
        "a",
        Array.from({ length: 1001 }, () => edit("a", "a")),
      ),
    ).toThrow(/limit of 1000/);
  });

  test("a similar text is looked for in a part of a large one", () => {
    const started = performance.now();
    expect(() => applyEdits("some words here\n".repeat(4_000_000), [edit("some word there", "")])).toThrow(
      expect.objectContaining({ code: "text_not_found" }),
    );
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test("a long text that almost occurs everywhere takes no longer than another", () => {
    const half = "a".repeat(100_000);
    const startedAt = process.cpuUsage();
    expect(() => applyEdits("a".repeat(480_000), [edit(`${half}b${half}`, "")])).toThrow(
      expect.objectContaining({ code: "text_not_found" }),
    );
    // Microseconds; V8's own search takes seconds.
    expect(process.cpuUsage(startedAt).user).toBeLessThan(1_500_000);
  });
});
