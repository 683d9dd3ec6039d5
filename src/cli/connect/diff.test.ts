import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderDiff } from "./diff.ts";

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join("");

/** Applies the hunks as `patch` would: by their line numbers. */
const applyDiff = (before: string, diff: string): string => {
  const old = before.split("\n").slice(0, -1);
  const out: string[] = [];
  let at = 0;
  for (const line of diff.split("\n").slice(2, -1)) {
    const head = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(line);
    if (head !== null) {
      const start = Number(head[1]) - (head[2] === "0" ? 0 : 1);
      out.push(...old.slice(at, start));
      at = start;
    } else if (line.startsWith("+")) out.push(line.slice(1));
    else {
      expect(line.slice(1)).toBe(old[at]);
      if (line.startsWith(" ")) out.push(line.slice(1));
      at++;
    }
  }
  return [...out, ...old.slice(at)].map((line) => `${line}\n`).join("");
};

describe("renderDiff", () => {
  it("shows the change with three lines around it", () => {
    const before = numbered(1, 20);
    const after = before.replace("line 10\n", "line X\nline Y\n");
    expect(renderDiff(before, after, "/f")).toBe(
      [
        "--- /f",
        "+++ /f",
        "@@ -7,7 +7,8 @@",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+line X",
        "+line Y",
        " line 11",
        " line 12",
        " line 13",
        "",
      ].join("\n"),
    );
  });

  it("makes two hunks of two distant changes", () => {
    const before = numbered(1, 40);
    const diff = renderDiff(before, before.replace("line 5\n", "").replace("line 35\n", "new\n"), "/f");
    expect(diff.match(/^@@.*$/gm)).toEqual(["@@ -2,7 +2,6 @@", "@@ -32,7 +31,7 @@"]);
  });

  it("says that a file is new, and nothing where nothing changes", () => {
    expect(renderDiff(undefined, "a\n", "/f")).toBe("--- /dev/null\n+++ /f\n@@ -0,0 +1,1 @@\n+a\n");
    expect(renderDiff("a\n", "a\n", "/f")).toBe("");
  });

  it("tells a missing last newline", () => {
    expect(renderDiff("a", "a\nb\n", "/f")).toContain("\\ No newline at end of file");
  });

  it("colours on request only", () => {
    expect(renderDiff("a\n", "b\n", "/f", true)).toContain("\u001b[32m+b\u001b[0m");
    expect(renderDiff("a\n", "b\n", "/f")).not.toContain("\u001b");
  });

  it("lets no file steer the terminal", () => {
    const diff = renderDiff("", "// \u001b[2K\u0007 \u202e x\r\u0085\ty\r\n", "/f\u001b[31m");
    expect(diff).not.toMatch(/(?![\n\t])[\p{Cc}\u202e]/u);
    expect(diff).toContain("+// ?[2K? ? x??\ty\n");
  });

  it("cuts a line that is a whole file", () => {
    expect(renderDiff("x".repeat(1e6), "y".repeat(1e6), "/f").length).toBeLessThan(3_000);
  });

  it("stays quick where everything changed in a long file", () => {
    const before = numbered(1, 20_000);
    const diff = renderDiff(before, before.replaceAll("line", "row"), "/f");
    expect(diff.split("\n").length).toBe(40_000 + 4);
  });

  it("is true: applying it to the old text gives the new one", () => {
    const text = fc
      .array(fc.constantFrom("a\n", "b\n", "c\n", "\n"), { maxLength: 40 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(applyDiff(before, renderDiff(before, after, "/f"))).toBe(after);
      }),
      { numRuns: 1_000 },
    );
  });
});
