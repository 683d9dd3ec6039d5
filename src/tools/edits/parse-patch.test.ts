import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { applyHunks, type PatchedText } from "./apply-patch.ts";
import { parsePatch } from "./parse-patch.ts";

const folder = mkdtempSync(join(tmpdir(), "llmc-diff-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The system's own diff, as other programs write it. */
const diff = (before: string, after: string, context: number): string => {
  writeFileSync(join(folder, "before"), before);
  writeFileSync(join(folder, "after"), after);
  try {
    execFileSync("diff", [`-U${context}`, "before", "after"], { cwd: folder });
    return "";
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout).replace("+++ after", "+++ before");
  }
};

const applyFirst = (text: string, patch: string): PatchedText => {
  const [file] = parsePatch(patch);
  if (file === undefined) throw new Error("no file");
  return applyHunks(text, file, (known) => known());
};

const applyAll = (text: string, patch: string): string => applyFirst(text, patch).text;

const PATCH = `--- a/src/x.ts
+++ b/src/x.ts
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
`;

const PATCH_3 = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n the first\n-second\n+SECOND\n the third\n";

describe("REQ-F11: unified diffs", () => {
  test("property: what diff writes turns the old text into the new one", () => {
    const line = fc.constantFrom(
      "a",
      "b",
      "c",
      "",
      "  indented",
      "+plus",
      "-minus",
      " space",
      "\\ slash",
      "@@ -1 +1 @@",
    );
    const text = fc
      .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
      .map(([lines, closed]) => lines.join("\n") + (closed && lines.length > 0 ? "\n" : ""));
    fc.assert(
      fc.property(text, text, fc.constantFrom(0, 1, 3), (before, after, context) => {
        const patch = diff(before, after, context);
        if (patch !== "") expect(applyFirst(before, patch)).toEqual({ text: after, moved: [] });
      }),
      { numRuns: 150 },
    );
  });

  test("a hunk whose numbers are off goes to the one place where it fits", () => {
    expect(applyAll("zero\nzero\none\ntwo\nthree\n", PATCH)).toBe("zero\nzero\none\nTWO\nthree\n");
    expect(() => applyAll("x\none\ntwo\nthree\none\ntwo\nthree\n", PATCH)).toThrow(
      expect.objectContaining({ code: "text_ambiguous" }),
    );
    expect(() => applyAll("one\nother\nthree\n", PATCH)).toThrow(
      expect.objectContaining({ code: "text_not_found", details: expect.objectContaining({ hunk: 1 }) }),
    );
  });

  test("REQ-F11: a hunk says where it went, if not to its own line", () => {
    const [head, rest] = [
      "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n@@ -3,0 +4 @@\n+new\n",
      "@@ -5 +6 @@\n-e\n+E\n",
    ];
    expect(applyFirst("a\nb\nc\nd\ne\n", head + rest)).toEqual({ text: "A\nb\nc\nnew\nd\nE\n", moved: [] });
    const withoutNumbers = "@@ @@\n-d\n+D\n";
    expect(applyFirst("0\n0\na\nb\nc\nd\ne\n", head + withoutNumbers + rest)).toEqual({
      text: "0\n0\nA\nb\nc\nnew\nD\nE\n",
      moved: [
        { hunk: 1, from: 1, to: 3 },
        { hunk: 2, from: 3, to: 5 },
        { hunk: 3, to: 6 },
        { hunk: 4, from: 5, to: 7 },
      ],
    });
  });

  test.each([
    ["too few", "@@ -1,1 +1,1 @@"],
    ["too many", "@@ -1,9 +1,9 @@"],
    ["other ones", "@@ -1,2 +1,7 @@"],
    ["no numbers", "@@ @@"],
    ["a name instead", "@@ function f() {"],
  ])("REQ-F11: wrong counts in a header are tolerated: %s", (_name, header) => {
    const patch = `--- a/x\n+++ b/x\n${header}\n one\n-two\n+TWO\n three\n`;
    expect(applyAll("one\ntwo\nthree\nfour\n", patch)).toBe("one\nTWO\nthree\nfour\n");
    const second = `${patch}${header}\n-seven\n+SEVEN\n\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n`;
    expect(parsePatch(second).map(({ path, hunks }) => [path, hunks.length])).toEqual([
      ["x", 2],
      ["y", 1],
    ]);
    expect(applyAll("one\ntwo\nthree\nsix\nseven\n", second)).toBe("one\nTWO\nthree\nsix\nSEVEN\n");
  });

  test("REQ-F11: a hunk that does not fit shows the nearest place, with what differs", () => {
    expect(() => applyAll("zero\n\nthe first\nother line\nthe third\n", PATCH_3)).toThrow(
      expect.objectContaining({
        code: "text_not_found",
        hint: "The nearest place:\n3:the first\n4:other line   [patch: second]\n5:the third",
        details: { hunk: 1, nearest_line: 3 },
      }),
    );
  });

  test("FAIL-A14: CRLF files keep their line endings", () => {
    expect(applyAll("one\r\ntwo\r\nthree\r\n", PATCH)).toBe("one\r\nTWO\r\nthree\r\n");
  });

  test("new, deleted, renamed and several files", () => {
    const files = parsePatch(
      [
        "diff --git a/old.txt b/new.txt",
        "similarity index 100%",
        "rename from old.txt",
        "rename to new.txt",
        "diff --git a/gone.txt b/gone.txt",
        "deleted file mode 100644",
        "--- a/gone.txt",
        "+++ /dev/null",
        "@@ -1 +0,0 @@",
        "-bye",
        "--- /dev/null",
        "+++ b/made.txt",
        "@@ -0,0 +1,2 @@",
        "+hello",
        "+there",
        'diff --git "a/caf\\303\\251.txt" "b/caf\\303\\251.txt"',
        '--- "a/caf\\303\\251.txt"',
        '+++ "b/caf\\303\\251.txt"',
        "@@ -1 +1 @@",
        "-a",
        "+b",
        "diff --git a/empty.txt b/empty.txt",
        "new file mode 100644",
        "index 0000000..e69de29",
      ].join("\n"),
    );
    expect(files.map(({ kind, path, target }) => [kind, path, target])).toEqual([
      ["rename", "old.txt", "new.txt"],
      ["delete", "gone.txt", undefined],
      ["create", "made.txt", undefined],
      ["update", "café.txt", undefined],
      ["create", "empty.txt", undefined],
    ]);
    expect(files[2] && applyHunks("", files[2], (known) => known()).text).toBe("hello\nthere\n");
    expect(files[1] && applyHunks("bye\n", files[1], (known) => known()).text).toBe("");
  });

  test.each([
    ["nothing at all", "hello", "no file"],
    ["a hunk without a file", "@@ -1 +1 @@\n-a\n+b\n", "comes before the ---"],
    ["a hunk without lines", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n", "has no lines"],
    [
      "a foreign line in a hunk",
      "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n*b\n",
      "does not start with a space",
    ],
    [
      "a link, which would be a file with the target as its text,",
      "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n",
      "links",
    ],
    ["a submodule", "diff --git a/x b/x\nnew file mode 160000\nindex 0..1\n", "submodules"],
    ["a file that becomes a link", "diff --git a/x b/x\nold mode 100644\nnew mode 120000\n", "links"],
    ["a binary patch", "diff --git a/x b/x\nGIT binary patch\n", "binary"],
  ])("%s is refused with its line", (_name, patch, why) => {
    expect(() => parsePatch(patch)).toThrow(
      expect.objectContaining({ code: "invalid_args", message: expect.stringContaining(why) }),
    );
  });
});
