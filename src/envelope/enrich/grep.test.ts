import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { summarize, summarizeReal } from "../../../test/summarize.ts";

const SRC = resolve(import.meta.dirname, "../..");
const many = (count: number, line: (i: number) => string): string =>
  `${Array.from({ length: count }, (_, i) => line(i)).join("\n")}\n`;

describe("grep and rg", () => {
  test("REQ-X4: matches are counted as grep counts them, each file is named once, and no line is made up", () => {
    const { raw, summary } = summarizeReal(["grep", "-rn", "LlmcError", "base", "policy"], SRC, 4000) ?? {
      raw: "",
    };
    const lines = raw.trimEnd().split("\n");
    expect(summary?.matchCount).toBe(lines.length);
    expect(summary?.text.split("\n")[0]).toBe(
      `[${lines.length} matches in ${new Set(lines.map((l) => l.split(":")[0])).size} files]`,
    );
    for (const shown of summary?.text.split("\n").slice(1) ?? []) {
      const text = shown.replace(/^(?:[\d,+]+[:-])?/, "");
      expect(raw).toContain(text);
    }
  });

  test("a few matches pass as they are, with their number", () => {
    expect(summarize("grep -n a f.txt", "1:a\n9:ba\n")).toEqual({
      text: "1:a\n9:ba\n",
      matchCount: 2,
      truncated: false,
    });
    expect(summarize("grep nothing f.txt", "", { exitCode: 1 })).toMatchObject({ text: "", matchCount: 0 });
  });

  test("the same text in one file is shown once, with its places", () => {
    const summary = summarize(
      "grep -rn x .",
      many(30, (i) => `./lib/some-long-name.ts:${i + 1}:  return x;`),
    );
    expect(summary?.text).toBe(
      "[30 matches in 1 file]\n./lib/some-long-name.ts:1,2,3,4,5,6,7,8,+22:  return x;",
    );
  });

  test("too many: the first of each file, then where the others are", () => {
    const summary = summarize(
      "grep -rn x src",
      many(20_000, (i) => `src/${i % 7}/f${i % 900}.ts:${i}:const value${i} = x;`),
      {
        maxTokens: 800,
      },
    );
    expect(summary).toMatchObject({ matchCount: 20_000, truncated: true });
    expect(summary?.text).toMatch(/^\[20000 matches in 6300 files\]\nsrc\/0\/f0\.ts/);
    expect(summary?.text).toMatch(/more files; matches by folder:\]\nsrc\/\d\/ \d+/);
  });

  test("-c: files without a match are only counted; -l: paths by folder; -h and one file: no names", () => {
    const counts = summarize(
      "grep -rc x .",
      many(200, (i) => `./d/file-${i}.ts:${i === 3 ? 7 : i === 5 ? 2 : 0}`),
    );
    expect(counts?.text).toBe(
      "[9 matches in 2 files; 198 files without one not listed]\n./d/file-3.ts:7\n./d/file-5.ts:2",
    );
    expect(counts?.matchCount).toBe(9);
    const paths = summarize(
      "grep -rl x src",
      many(40, (i) => `src/deep/folder/name-${i}.ts`),
    );
    expect(paths).toMatchObject({ matchCount: 40, truncated: false });
    expect(paths?.text).toContain("src/deep/folder/: name-0.ts name-1.ts");
    expect(
      summarize(
        "grep -h x a b",
        many(9, () => "a:1:b"),
      ),
    ).toMatchObject({ matchCount: 9 });
  });

  test("context, headings, --json, NULs and colours are read; neighbours are no matches", () => {
    const context = ["a-b.ts-1-one", "a-b.ts:2:two", "a-b.ts-3-", "--", "c.ts:7:seven", "c.ts-8-eight"];
    const summary = summarize(
      "grep -rn -C1 t .",
      `${many(12, () => context.join("\n")).replaceAll("eight\na-b", "eight\n--\na-b")}`,
    );
    expect(summary?.matchCount).toBe(24);
    expect(summary?.text).toContain("a-b.ts\n1-one\n2:two\n3-\n");
    expect(summarize("rg --heading -n x", "a.ts\n1:x\n4:x y\n\nb.ts\n2:x\n")).toMatchObject({
      matchCount: 3,
    });
    const event = (n: number): string =>
      JSON.stringify({
        type: "match",
        data: { path: { text: "a.ts" }, lines: { text: `x${n}\n` }, line_number: n },
      });
    expect(summarize("rg --json x", `${event(1)}\n${event(2)}\n{"type":"summary","data":{}}\n`)?.text).toBe(
      "[2 matches in 1 file]\na.ts\n1:x1\n2:x2",
    );
    expect(
      summarize(
        "grep -rnZ x .",
        many(20, (i) => `a:b.ts\0${i}:x${i}`),
      )?.text,
    ).toContain("a:b.ts\n0:x0\n1:x1");
    expect(
      summarize(
        "rg -n --color=always x d",
        many(20, (i) => `\u001b[35md/a.ts\u001b[0m:\u001b[32m${i}\u001b[0m:x`),
      )?.text,
    ).toContain("d/a.ts:0,1,2");
  });

  test("a long line is shortened, and says by how much", () => {
    const summary = summarize("grep -n x f", `1:${"x".repeat(5000)}\n`);
    expect(summary?.text).toMatch(/^\[1 match\]\n1:x{240}… \[\+4760 characters\]$/);
    expect(summary?.truncated).toBe(true);
  });

  test("an output that does not have the form passes through", () => {
    const root = tempWorkspace({ "a.txt": "one\n" });
    expect(summarize("rg --json x", "not json\n")).toBeUndefined();
    expect(summarizeReal(["grep", "--help"], root)?.summary?.truncated ?? false).toBe(false);
  });
});
