import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SAMPLES } from "../../../test/syntax-samples.ts";
import { extractSymbols } from "../../symbols/extract-symbols.ts";
import { languageOf } from "../../syntax/languages.ts";
import { createParsers, type Parsers } from "../../syntax/parsers.ts";
import { readSyntaxTree } from "../../syntax/syntax-tree.ts";
import type { Sizes } from "./sizes.ts";
import { cutSyntax } from "./syntax-chunks.ts";

/** Small, so that a few lines make several chunks. */
const SMALL: Sizes = { targetChars: 90, targetRows: 4, maxChars: 220, maxRows: 9 };

let parsers: Parsers;
beforeAll(async () => {
  parsers = await createParsers();
});
afterAll(() => parsers.close());

const cut = async (path: string, source: string, sizes: Sizes) => {
  const language = languageOf(path, source);
  const grammar = language.grammar ?? "python";
  const { tree } = await parsers.parse(grammar, source);
  if (tree === undefined) throw new Error("no tree");
  try {
    return {
      language: language.id,
      ...cutSyntax(
        readSyntaxTree(tree, source),
        grammar,
        source,
        language.kind,
        extractSymbols(tree, language, source),
        sizes,
      ),
    };
  } finally {
    tree.delete();
  }
};

describe("REQ-R2 chunks follow the syntax, and carry the names of what they define", () => {
  test.each(SAMPLES)("$language", async ({ path, language, source, chunks }) => {
    const found = await cut(path, source, SMALL);
    expect(found.language).toBe(language);
    expect(
      found.chunks.map(
        (chunk) => `${chunk.startLine}-${chunk.endLine} ${chunk.name} | ${chunk.defines.join(" ")}`,
      ),
    ).toEqual(chunks);
  });

  test("a long function is split at its statements, and every part keeps its name", async () => {
    const body = Array.from({ length: 40 }, (_, i) => `    if x == ${i}:\n        call_${i}(x)`).join("\n");
    const { chunks } = await cut("a.py", `class A:\n  def long(self, x):\n${body}\n`, {
      targetChars: 300,
      targetRows: 12,
      maxChars: 500,
      maxRows: 20,
    });
    expect(chunks).toHaveLength(5);
    expect(chunks[0]?.defines).toEqual(["A", "long"]);
    for (const chunk of chunks.slice(1)) {
      expect(chunk.name).toBe("A.long");
      expect(chunk.defines).toEqual([]);
      expect(chunk.text).toMatch(/^ {4}if /);
    }
  });

  test("comments, decorators and attributes stay with what they are about", async () => {
    const source = [
      "function first() {\n  return 1;\n}\n",
      "// About second,\n// in two lines.\n@sealed\nclass Second {\n  a() {\n    return 2;\n  }\n}\n",
      "/**\n * About third.\n */\nexport function third() {\n  return 3;\n}\n",
    ].join("\n");
    const { chunks } = await cut("a.ts", source, {
      targetChars: 80,
      targetRows: 6,
      maxChars: 120,
      maxRows: 9,
    });
    expect(chunks.map((chunk) => chunk.text.split("\n", 1)[0])).toEqual([
      "function first() {",
      "// About second,",
      "/**",
    ]);
  });
});
