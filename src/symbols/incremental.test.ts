import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { symbolsOf } from "../../test/graph-of.ts";
import { runSteps } from "./answers/centrality.ts";
import type { FileSymbols } from "./extract/file-symbols.ts";
import { packSymbols } from "./extract/pack.ts";
import { createGraph, type Graph } from "./graph.ts";

const PATHS = [
  "a.ts",
  "b.ts",
  "lib/index.ts",
  "pkg/__init__.py",
  "pkg/store.py",
  "main.py",
  "x/Store.java",
  "y/App.java",
];

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  ts: [
    'import { open, Store } from "./b";\nexport const run = (s: Store) => s.flush(open());\n',
    'export { open as default, Store } from "./lib";\nexport * from "./a";\n',
    "export class Store { flush(x: number) { return this.flush(x); } }\nexport function open() { return 1; }\n",
    'import open, * as all from "./b.ts";\nopen();\nall.Store;\nexport function helper() { open(); }\n',
    "",
  ],
  py: [
    "from .store import Store, open\n",
    "class Store:\n    def flush(self): return self.flush()\ndef open(): return Store()\n",
    "from pkg import *\nimport pkg.store as s\nopen().flush()\ns.open()\n",
    "import pkg\nclass Child(pkg.Store):\n    def run(self): self.flush()\n",
  ],
  java: [
    "package x; public class Store extends Base { public void flush() { run(); } }\n",
    "package y; import x.Store; class App { Store store; void run() { store.flush(); new Store(); } }\n",
    "package y; public class Base { void run() {} }\n",
  ],
};

const NAMES = ["open", "Store", "flush", "run", "helper", "Child", "Base", "App"];

const answers = (graph: Graph): unknown => ({
  used: NAMES.map((word) => graph.whereUsed(word)),
  lineage: NAMES.map((word) => graph.lineage(word, { depth: 3 })),
  inspected: [...NAMES, ...PATHS].map((word) => graph.inspect(word)),
  central: [...runSteps(graph.centrality())].map(([path, value]) => `${path} ${value.toFixed(9)}`).sort(),
  stats: graph.stats(),
});

const languageOf = (path: string): string =>
  ({ ts: "typescript", py: "python", java: "java" })[path.split(".").at(-1) ?? ""] ?? "";

describe("REQ-R1 REQ-R5 the graph does not remember its past", () => {
  test("any order of edits and deletions gives the graph of a clean build", async () => {
    const parsed = new Map<string, FileSymbols>();
    for (const [extension, texts] of Object.entries(TEXTS))
      for (const [index, text] of texts.entries())
        parsed.set(`${extension} ${index}`, await symbolsOf(`a.${extension}`, text));
    const step = fc.record({ path: fc.constantFrom(...PATHS), version: fc.nat(5), asks: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const edited = createGraph();
        const left = new Map<string, FileSymbols>();
        for (const { path, version, asks } of steps) {
          const symbols = parsed.get(`${path.split(".").at(-1)} ${version}`);
          if (symbols === undefined) {
            edited.remove(path);
            left.delete(path);
          } else {
            edited.put(path, languageOf(path), version % 2 === 0 ? symbols : packSymbols(symbols));
            left.set(path, symbols);
          }
          if (asks) answers(edited);
        }
        const clean = createGraph();
        for (const path of [...left.keys()].sort())
          clean.put(path, languageOf(path), left.get(path) ?? new Uint8Array());
        expect(answers(edited)).toEqual(answers(clean));
      }),
      process.env["LLMC_TEST_LONG"] === undefined ? { numRuns: 60, seed: 20_261_115 } : { numRuns: 3000 },
    );
  });
});
