import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { graphOf, symbolsOf } from "../../test/graph-of.ts";
import { packSymbols, unpackSymbols } from "./extract/pack.ts";

const EXTENSIONS = [
  "ts",
  "tsx",
  "js",
  "py",
  "java",
  "go",
  "rs",
  "kt",
  "cs",
  "c",
  "cpp",
  "rb",
  "php",
  "swift",
  "scala",
  "lua",
  "ex",
  "hs",
  "zig",
  "sh",
];

const DEEP: readonly (readonly [string, string])[] = [
  ["a.ts", `export const a = ${"(".repeat(20_000)}1${")".repeat(20_000)};\nexport const b = 1;\n`],
  ["b.ts", `export const a = ${"f(".repeat(5_000)}1${")".repeat(5_000)};\n`],
  ["c.ts", `export const a = ${"b.".repeat(20_000)}c;\n`],
  ["d.ts", `${"namespace a { ".repeat(3_000)}${"}".repeat(3_000)}\n`],
  [
    "e.py",
    `${Array.from({ length: 90 }, (_, depth) => `${" ".repeat(depth)}class A${depth}:`).join("\n")}\n${" ".repeat(90)}pass\n`,
  ],
  ["f.py", `x = ${"1 + ".repeat(20_000)}1\n`],
  ["g.java", `class A { int x = ${"a.b(".repeat(3_000)}1${")".repeat(3_000)}; }\n`],
  ["h.rs", `fn f() { ${"{".repeat(3_000)}${"}".repeat(3_000)} }\n`],
  ["i.ts", `type A = ${"{ a: ".repeat(3_000)}1${"}".repeat(3_000)};\n`],
  ["j.ts", `const ${"{ a: ".repeat(3_000)}b${" }".repeat(3_000)} = c;\n`],
];

describe("FAIL-F5 REQ-R5 hostile sources", () => {
  test.each(DEEP)("nesting without end in %s", async (path, text) => {
    const symbols = await symbolsOf(path, text);
    const { definitions } = symbols;
    expect(unpackSymbols(packSymbols(symbols))).toEqual(symbols);
    const graph = await graphOf({ [path]: text });
    for (const { qualified } of definitions.slice(0, 20)) {
      graph.whereUsed(qualified);
      graph.lineage(qualified, { depth: 10 });
      graph.inspect(qualified);
    }
  });

  test("names that are words of JavaScript's objects", async () => {
    const graph = await graphOf({
      "a.ts":
        "export const __proto__ = 1;\nexport function constructor() {}\nexport const toString = () => constructor();\n",
      "b.py": "def hasOwnProperty():\n    pass\nhasOwnProperty()\n__proto__ = 1\n",
    });
    expect(graph.whereUsed("hasOwnProperty").uses.map(({ line }) => line)).toEqual([3]);
    expect(graph.whereUsed("constructor").uses.map(({ line }) => line)).toEqual([3]);
    expect(graph.whereUsed("valueOf").definitions).toEqual([]);
  });

  test("classes that inherit from each other, types that name each other", async () => {
    const graph = await graphOf({
      "a.py": "from b import B\nclass A(B):\n    def go(self):\n        self.nothing_here()\n",
      "b.py": "from a import A\nclass B(A):\n    pass\n",
      "c.ts": "export type X = Y;\nexport type Y = X;\nexport const f = (x: X) => x.nothing_here();\n",
      "d.ts": 'export * from "./d.ts";\nexport { q } from "./e.ts";\n',
      "e.ts": 'export { q } from "./d.ts";\nimport { q } from "./d.ts";\nq();\n',
    });
    for (const word of ["A", "B", "X", "Y", "f", "A.go", "q"]) {
      graph.whereUsed(word);
      graph.lineage(word, { depth: 10 });
    }
    expect(graph.inspect("A").symbols[0]?.parents.map(({ name }) => name)).toEqual(["B"]);
  });

  test("a line of a million characters", async () => {
    const text = `export const f = () => 1;${"f();".repeat(100_000)}\n`;
    const { references } = await symbolsOf("a.js", text);
    expect(references.length).toBeGreaterThan(0);
    expect((await graphOf({ "a.js": text })).whereUsed("f").uses.length).toBeGreaterThan(0);
  });

  test("pieces of any source, in any language, give symbols that survive packing", async () => {
    const tokens = [
      "class",
      "def",
      "fn",
      "func",
      "{",
      "}",
      "(",
      ")",
      "A",
      "b",
      ".",
      "::",
      "=",
      "->",
      "=>",
      ":",
      ";",
      ",",
      "import",
      "from",
      '"x"',
      "<",
      ">",
      "*",
      "&",
      "#",
      "\n",
      "  ",
      "\0",
      "é",
      "\u{1F600}",
      "return",
      "new",
      "self",
      "this",
      "struct",
      "impl",
      "use",
      "for",
      "in",
      "[",
      "]",
      "@",
      "$",
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...EXTENSIONS),
        fc.array(fc.constantFrom(...tokens), { maxLength: 60 }),
        async (extension, parts) => {
          const symbols = await symbolsOf(`a.${extension}`, parts.join(" "));
          for (const { parent, startLine, endLine, line } of symbols.definitions) {
            expect(parent).toBeLessThan(symbols.definitions.length);
            expect(startLine).toBeLessThanOrEqual(endLine);
            expect(line).toBeGreaterThanOrEqual(startLine);
          }
          for (const { target, inside } of symbols.references)
            expect(Math.max(target, inside)).toBeLessThan(symbols.definitions.length);
          expect(unpackSymbols(packSymbols(symbols))).toEqual(symbols);
        },
      ),
      process.env["LLMC_TEST_LONG"] === undefined ? { numRuns: 120, seed: 20_261_115 } : { numRuns: 10_000 },
    );
  });

  test("damaged bytes are a file without symbols", async () => {
    const packed = packSymbols(
      await symbolsOf("a.ts", "export const a = () => b();\nexport function b() {}\n"),
    );
    expect(unpackSymbols(packed).definitions).toHaveLength(2);
    fc.assert(
      fc.property(fc.nat(packed.length - 1), fc.nat(255), fc.nat(packed.length), (at, value, length) => {
        const damaged = packed.slice(0, length);
        damaged[at] = value;
        expect(Array.isArray(unpackSymbols(damaged).definitions)).toBe(true);
      }),
    );
    expect(unpackSymbols(new Uint8Array(0)).references).toEqual([]);
  });
});

test("FAIL-F5 a name of many parts that very many definitions have is looked up in bounded time", async () => {
  const methods = Array.from({ length: 6000 }, (_, i) => `class C${i}:\n    def get(self):\n        pass\n`);
  const graph = await graphOf({
    "pkg/a.py": methods.join(""),
    "pkg/b.py": "class Only:\n    def get(self): pass\n",
  });
  const start = process.threadCpuUsage();
  for (let i = 0; i < 60; i++) graph.definitionsOf(`z${i}.${"q.".repeat(50)}get`, 40);
  const { user, system } = process.threadCpuUsage(start);
  expect((user + system) / 1000).toBeLessThan(1500);
  expect(graph.definitionsOf("pkg.a.C5999.get", 40).map(({ qualified }) => qualified)).toEqual(["C5999.get"]);
});
