import fc from "fast-check";
import { expect, test } from "vitest";
import { smallDiff } from "./small-diff.ts";

test("REQ-F5: a change is shown with its line, what went and what came", () => {
  expect(smallDiff("a\nb\nc\n", "a\nB\nc\n")).toBe("@@ 2\n-b\n+B");
  expect(smallDiff("a\nb\nc\nd\n", "a\nc\nd\ne\n")).toBe("@@ 2\n-b\n@@ 4\n+e");
  expect(smallDiff("a\r\nb\r\n", "a\r\nc\r\n")).toBe("@@ 2\n-b\n+c");
  expect(smallDiff("a\n", "a\n")).toBe("");
  expect(smallDiff("", "a\n")).toBe("@@ 1\n+a");
});

test("REQ-F5: a large change stays small, and says how much is not shown", () => {
  const before = Array.from({ length: 500 }, (_, i) => `old ${i}`).join("\n");
  const after = Array.from({ length: 700 }, (_, i) => `new ${i} ${"x".repeat(500)}`).join("\n");
  const diff = smallDiff(before, after).split("\n");
  expect(diff).toHaveLength(10);
  expect(diff.slice(0, 6).map((line) => line.slice(0, 6))).toEqual([
    "@@ 1",
    "-old 0",
    "-old 1",
    "-old 2",
    "-old 3",
    "+new 0",
  ]);
  expect(diff.at(-1)).toBe("… 1192 more changed lines");
  expect(Math.max(...diff.map((line) => line.length))).toBeLessThan(130);
});

test("FAIL-J6: a text that is too large is not compared", () => {
  const text = "a\n".repeat(5_000_000);
  expect(smallDiff(text, text.replaceAll("a", "b"))).toBe("[too large to be compared]");
});

test("FAIL-J6: lines far apart that are equal are not looked for all through a large text", () => {
  const row = (i: number): string => (i % 101 === 0 ? "x" : `a${i % 1000}`);
  const before = Array.from({ length: 400_000 }, (_, i) => row(i)).join("\n");
  const diff = smallDiff(before, before.replaceAll("a", "b"));
  expect(diff).toMatch(/^@@ 2\n-a1\n/);
  expect(diff).toMatch(/… many more changed lines$/);
});

test("what is shown in full turns the one text into the other", () => {
  const line = fc.constantFrom<string[]>("a", "b", "c", "d", "");
  const text = fc.array(line, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const rebuilt = [...before];
      let at = 0;
      const diff = smallDiff(before.join("\n"), after.join("\n"));
      if (diff.includes("more changed lines")) return;
      for (const shown of diff === "" ? [] : diff.split("\n")) {
        if (shown.startsWith("@@ ")) at = Number(shown.slice(3)) - 1;
        else if (shown.startsWith("-")) expect(rebuilt.splice(at, 1)).toEqual([shown.slice(1)]);
        else rebuilt.splice(at++, 0, shown.slice(1));
      }
      expect(rebuilt.join("\n")).toBe(after.join("\n"));
    }),
  );
});
