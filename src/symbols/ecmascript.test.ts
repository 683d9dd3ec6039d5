import { describe, expect, test } from "vitest";
import { graphOf, type SourceTexts, symbolsOf, usesOf } from "../../test/graph-of.ts";

interface Case {
  readonly name: string;
  readonly files: SourceTexts;
  readonly symbol: string;
  readonly uses: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "an import with the ending of the built file",
    files: {
      "src/store.ts": "export function openStore() {}\n",
      "src/main.ts": 'import { openStore } from "./store.js";\nopenStore();\n',
    },
    symbol: "openStore",
    uses: ["src/main.ts:1", "src/main.ts:2"],
  },
  {
    name: "an index file without ending",
    files: {
      "lib/index.ts": "export const openStore = () => 1;\n",
      "main.ts": 'import { openStore } from "./lib";\nexport const x = openStore();\n',
    },
    symbol: "openStore",
    uses: ["main.ts:1", "main.ts:2"],
  },
  {
    name: "aliases on the way in and on the way out",
    files: {
      "a.ts": "function inner() {}\nexport { inner as outer };\n",
      "b.ts": 'export { outer as third } from "./a.ts";\n',
      "c.ts": 'import { third as mine } from "./b.ts";\nmine();\n',
    },
    symbol: "inner",
    uses: ["a.ts:2", "b.ts:1", "c.ts:1", "c.ts:2"],
  },
  {
    name: "export * through two files, in a cycle",
    files: {
      "a.ts": 'export class Store {}\nexport * from "./b.ts";\n',
      "b.ts": 'export * from "./a.ts";\n',
      "c.ts": 'import { Store } from "./b.ts";\nnew Store();\n',
    },
    symbol: "Store",
    uses: ["c.ts:1", "c.ts:2"],
  },
  {
    name: "default exports and namespaces",
    files: {
      "a.ts": "export default function openStore() {}\nexport const limit = () => 3;\n",
      "b.ts": 'import open from "./a.ts";\nimport * as all from "./a.ts";\nopen();\nall.limit();\n',
    },
    symbol: "openStore",
    uses: ["b.ts:1", "b.ts:3"],
  },
  {
    name: "a member of a namespace",
    files: {
      "a.ts": "export const limit = () => 3;\n",
      "b.ts": 'import * as all from "./a.ts";\nall.limit();\n',
    },
    symbol: "limit",
    uses: ["b.ts:2"],
  },
  {
    name: "types, and imports of types alone",
    files: {
      "a.ts": "export interface Store { open(): void }\n",
      "b.ts": 'import type { Store } from "./a.ts";\nexport const f = (store: Store) => store.open();\n',
    },
    symbol: "Store.open",
    uses: ["b.ts:2"],
  },
  {
    name: "a parameter and a local of the same name are something else",
    files: {
      "a.ts": [
        "export function size() {}",
        "export const f = (size: number) => size + 1;",
        "export const g = () => { const size = 1; return size; };",
        "export const h = () => size();",
      ].join("\n"),
    },
    symbol: "size",
    uses: ["a.ts:4"],
  },
  {
    name: "an inner function hides the outer one",
    files: {
      "a.ts":
        "export function run() {}\nexport function outer() {\n  function run() {}\n  run();\n}\nrun();\n",
    },
    symbol: "a.ts:1",
    uses: ["a.ts:6"],
  },
  {
    name: "inherited methods, this and super",
    files: {
      "a.ts": "export class Base { start() {} }\n",
      "b.ts":
        'import { Base } from "./a.ts";\nexport class Child extends Base {\n  go() { this.start(); super.start(); }\n}\nnew Child().start();\n',
    },
    symbol: "Base.start",
    uses: ["b.ts:3", "b.ts:5"],
  },
  {
    name: "the type of a field, a result, an element and a destructured parameter",
    files: {
      "a.ts": [
        "export interface Item { flush(): void }",
        "export interface Store { readonly items: readonly Item[]; first(): Item }",
        "export const open = (): Store => { throw 1; };",
      ].join("\n"),
      "b.ts": [
        'import { open, type Store } from "./a.ts";',
        "open().first().flush();",
        "for (const item of open().items) item.flush();",
        "open().items.map((item) => item.flush());",
        "export const f = ({ items }: Store) => items[0]?.flush();",
      ].join("\n"),
    },
    symbol: "Item.flush",
    uses: ["b.ts:2", "b.ts:3", "b.ts:4", "b.ts:5"],
  },
  {
    name: "overloads are one symbol",
    files: {
      "a.ts":
        "export function f(a: string): void;\nexport function f(a: number): void;\nexport function f(): void {}\n",
      "b.ts": 'import { f } from "./a.ts";\nf(1);\n',
    },
    symbol: "a.ts:3",
    uses: ["b.ts:1", "b.ts:2"],
  },
  {
    name: "an object that a function returns",
    files: {
      "a.ts": "export const createGate = () => {\n  return { tryEnter: () => true };\n};\n",
      "b.ts":
        'import { createGate } from "./a.ts";\nconst gate = createGate();\nexport const f = () => gate.tryEnter();\n',
    },
    symbol: "createGate.tryEnter",
    uses: ["b.ts:3"],
  },
  {
    name: "a package of the workspace by its name, with exports",
    files: {
      "packages/core/package.json":
        '{ "name": "@x/core", "exports": { ".": "./dist/index.js", "./sub": { "import": "./dist/sub.js" } } }',
      "packages/core/src/index.ts": "export const alpha = () => 1;\n",
      "packages/core/src/sub.ts": "export const beta = () => 1;\n",
      "packages/app/main.ts":
        'import { alpha } from "@x/core";\nimport { beta } from "@x/core/sub";\nalpha();\nbeta();\n',
    },
    symbol: "beta",
    uses: ["packages/app/main.ts:2", "packages/app/main.ts:4"],
  },
  {
    name: "paths of tsconfig, with comments in it",
    files: {
      "tsconfig.json": '{ // paths\n "compilerOptions": { "paths": { "@/*": ["./src/*"], }, } }',
      "src/a.ts": "export const alpha = () => 1;\n",
      "app/b.ts": 'import { alpha } from "@/a";\nalpha();\n',
    },
    symbol: "alpha",
    uses: ["app/b.ts:1", "app/b.ts:2"],
  },
  {
    name: "require and module.exports",
    files: {
      "a.js": "function alpha() {}\nmodule.exports = { alpha };\n",
      "b.js": 'const { alpha } = require("./a");\nconst all = require("./a");\nalpha();\nall.alpha();\n',
    },
    symbol: "alpha",
    uses: ["a.js:2", "b.js:1", "b.js:3", "b.js:4"],
  },
  {
    name: "components of JSX",
    files: {
      "a.tsx": "export const Button = () => <b />;\n",
      "b.tsx": 'import { Button } from "./a";\nexport const Page = () => <div><Button /></div>;\n',
    },
    symbol: "Button",
    uses: ["b.tsx:1", "b.tsx:2"],
  },
  {
    name: "a foreign package with the same name is not ours",
    files: {
      "a.ts": "export const parse = () => 1;\n",
      "b.ts": 'import { parse } from "yaml";\nparse();\nJSON.parse("");\n',
    },
    symbol: "parse",
    uses: [],
  },
];

describe("REQ-R5 uses in TypeScript and JavaScript", () => {
  test.each(CASES)("$name", async ({ files, symbol, uses }) => {
    expect(usesOf(await graphOf(files), symbol)).toEqual(uses);
  });

  test("FAIL-F1 the same name in two files: each import means its own file", async () => {
    const graph = await graphOf({
      "a/open.ts": "export const open_it = () => 1;\n",
      "b/open.ts": "export const open_it = () => 2;\n",
      "c.ts": 'import { open_it } from "./b/open.ts";\nopen_it();\n',
    });
    expect(usesOf(graph, "a/open.ts:open_it")).toEqual([]);
    expect(usesOf(graph, "b/open.ts:open_it")).toEqual(["c.ts:1", "c.ts:2"]);
    const both = graph.whereUsed("open_it");
    expect(both.definitions.map(({ path }) => path)).toEqual(["a/open.ts", "b/open.ts"]);
    expect(both.uses.every(({ definition }) => definition === 1)).toBe(true);
  });

  test("definitions have qualified names, spans and kinds", async () => {
    const { definitions } = await symbolsOf(
      "a.ts",
      "export class Store {\n  readonly size = 1;\n  open(): void {\n  }\n}\nenum Kind { A }\n",
    );
    expect(
      definitions.map(({ qualified, kind, line, startLine, endLine, exported }) => [
        qualified,
        kind,
        line,
        startLine,
        endLine,
        exported,
      ]),
    ).toEqual([
      ["Store", "class", 1, 1, 5, true],
      ["Store.size", "field", 2, 2, 2, true],
      ["Store.open", "method", 3, 3, 4, true],
      ["Kind", "enum", 6, 6, 6, false],
      ["Kind.A", "constant", 6, 6, 6, true],
    ]);
  });
});
