import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createParsers, type Parsers } from "../../syntax/parsers.ts";
import { parseFile } from "../index/parse-file.ts";
import type { Chunk } from "./chunk.ts";
import { SIZES } from "./sizes.ts";

const runs = process.env["LLMC_TEST_LONG"] === undefined ? 250 : 5_000;

let parsers: Parsers;
beforeAll(async () => {
  parsers = await createParsers();
});
afterAll(() => parsers.close());

/** Lines end at `\n` only. */
const linesOf = (text: string): string[] => text.split("\n");

const check = (text: string, chunks: readonly Chunk[]): void => {
  const lines = linesOf(text);
  const seen = new Array<number>(lines.length).fill(0);
  let last = 0;
  for (const chunk of chunks) {
    expect(chunk.startLine).toBeGreaterThan(last);
    expect(chunk.endLine).toBeGreaterThanOrEqual(chunk.startLine);
    last = chunk.endLine;
    for (let line = chunk.startLine; line <= chunk.endLine; line++)
      seen[line - 1] = (seen[line - 1] ?? 0) + 1;
    expect(chunk.text).toBe(
      lines
        .slice(chunk.startLine - 1, chunk.endLine)
        .join("\n")
        .replace(/\r$/, ""),
    );
    expect(chunk.text.length).toBeLessThanOrEqual(SIZES.maxChars);
  }
  lines.forEach((line, i) => {
    if (line.trim() !== "") expect(seen[i], `line ${i + 1}`).toBe(1);
  });
};

const BITS = [
  "def f(x):",
  "    return x",
  "class A {",
  "}",
  "}",
  "{",
  "function g() {",
  "  if (a) {",
  "// words",
  "# Heading",
  "/* open",
  "*/",
  '"""',
  "```",
  "```js",
  "| a | b |",
  "key: value",
  "[table]",
  "- item",
  "====",
  "----",
  "<h2>T</h2>",
  "end",
  "do",
  "(",
  ")",
  "'",
  "`${",
  "\t\tindented",
  "",
  "",
  "   ",
  "\f",
  "\uFEFFx",
  "a\u2028b",
  "lone\rreturn",
  "é漢😀",
  "\0",
  "<?php",
  "<script>",
  "</script>",
  "---",
  "<<EOF",
  "begin",
  "let x = 1;",
  "@decorator",
  "#if X",
  "#endif",
  "namespace a {",
  "fn main() {",
];
const PATHS = [
  "a.py",
  "a.ts",
  "a.tsx",
  "a.js",
  "a.go",
  "a.rs",
  "a.java",
  "a.c",
  "a.cpp",
  "a.rb",
  "a.php",
  "a.lua",
  "a.zig",
  "a.sh",
  "a.css",
  "a.ex",
  "a.hs",
  "a.json",
  "a.yaml",
  "a.toml",
  "a.md",
  "a.rst",
  "a.html",
  "a.txt",
  "a.xyz",
  "a.sql",
  "a.vue",
  "a.astro",
];

const anyText = fc
  .tuple(
    fc.array(
      fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...BITS) }, { weight: 1, arbitrary: fc.string() }),
      {
        maxLength: 250,
        size: "max",
      },
    ),
    fc.constantFrom("\n", "\r\n"),
    fc.constantFrom("", "\n", "\n\n"),
  )
  .map(([lines, end, tail]) => lines.join(end) + tail);

test("REQ-R2 every line that is not blank is in exactly one chunk, in order, with the text of the file", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), anyText, async (path, text) => {
      const parsed = await parseFile({ path, text }, parsers);
      check(text, parsed.chunks);
      const again = await parseFile({ path, text }, parsers);
      expect(again.chunks).toEqual(parsed.chunks);
    }),
    // The same texts every time, where a failure would stop a release; new ones in the long form.
    { numRuns: runs, ...(process.env["LLMC_TEST_LONG"] === undefined ? { seed: 20_261_115 } : {}) },
  );
});

test("chunks are of a useful size: neighbours that fit into one are not left apart", async () => {
  const text = Array.from({ length: 300 }, (_, i) => `def f${i}(x):\n    return x + ${i}\n`).join("\n");
  const { chunks } = await parseFile({ path: "a.py", text }, parsers);
  for (const chunk of chunks) {
    const rows = chunk.endLine - chunk.startLine + 1;
    expect(rows).toBeGreaterThan(SIZES.targetRows / 2);
    expect(rows).toBeLessThanOrEqual(SIZES.maxRows);
    expect(chunk.text).toMatch(/^def /);
  }
});
