import { describe, expect, test } from "vitest";
import { graphOf, symbolsOf, usesOf } from "../../test/graph-of.ts";
import { runSteps } from "./answers/centrality.ts";
import { outlineSymbols } from "./extract/outline-symbols.ts";
import { createGraph } from "./graph.ts";

const CYCLE = {
  "a.ts": 'import { b } from "./b.ts";\n/** Starts it. */\nexport function a(): void {\n  b();\n}\n',
  "b.ts": 'import { c } from "./c.ts";\nexport const b = () => c();\n',
  "c.ts": 'import { a } from "./a.ts";\nexport const c = () => {\n  a();\n  a();\n};\n',
  "test/a.test.ts": 'import { a } from "../a.ts";\nconst checks = () => a();\nchecks();\n',
};

const names = (nodes: readonly { readonly name: string; readonly depth: number }[]): readonly string[] =>
  nodes.map(({ name, depth }) => `${name} ${depth}`);

describe("REQ-R5 questions about a file", () => {
  test("its lineage is what imports it and what it imports, one step each", async () => {
    const graph = await graphOf(CYCLE);
    const { nodes, edges } = graph.lineage("a.ts");
    expect(names(nodes)).toEqual(["a.ts 0", "c.ts -1", "a.test.ts -1", "b.ts 1"]);
    expect(edges.map(({ from, to, lines }) => [from, to, lines])).toEqual([
      [1, 0, [1]],
      [2, 0, [1]],
      [0, 3, [1]],
    ]);
    expect(names(graph.lineage("a.ts", { direction: "callees" }).nodes)).toEqual(["a.ts 0", "b.ts 1"]);
    expect(graph.lineage("a.ts", { limit: 2 })).toMatchObject({ truncated: true, nodes: { length: 2 } });
  });

  test("a file is named by the end of its path where no other has it", async () => {
    const graph = await graphOf(CYCLE);
    expect(graph.inspect("a.test.ts").file?.path).toBe("test/a.test.ts");
    expect(usesOf(graph, "b.ts")).toEqual(["a.ts:1"]);
  });

  test("a path that does not exist has neither uses nor mentions, and near ones are suggested", async () => {
    const graph = await graphOf(CYCLE);
    for (const answer of [graph.whereUsed("test/d.test.ts"), graph.inspect("test/d.test.ts")]) {
      expect(answer.mentions.total).toBe(0);
      expect(answer.suggestions).toEqual(["test/a.test.ts"]);
    }
    expect(graph.lineage("lib/nowhere.ts")).toMatchObject({
      nodes: [],
      mentions: { total: 0 },
      suggestions: [],
    });
  });
});

describe("REQ-R5 lineage", () => {
  test("a call is as sure as the surest of its lines", async () => {
    const graph = await graphOf({
      "a.ts": "export function f() {}\nexport const g = { f };\n",
      "b.ts": 'import { f, g } from "./a";\nexport const go = () => {\n  g.f();\n  f();\n};\n',
    });
    expect(graph.lineage("go", { direction: "callees" }).edges).toMatchObject([
      { lines: [3, 4], confidence: 1 },
    ]);
  });

  test("callers, callees and both, by depth; a cycle ends", async () => {
    const graph = await graphOf(CYCLE);
    expect(names(graph.lineage("a", { direction: "callees", depth: 1 }).nodes)).toEqual(["a 0", "b 1"]);
    expect(names(graph.lineage("a", { direction: "callees", depth: 9 }).nodes)).toEqual([
      "a 0",
      "b 1",
      "c 2",
    ]);
    expect(names(graph.lineage("a", { direction: "callers", depth: 1 }).nodes)).toEqual([
      "a 0",
      "c -1",
      "checks -1",
    ]);
    const both = graph.lineage("a", { direction: "both", depth: 9 });
    const edges = both.edges.map(
      ({ from, to, lines }) => `${both.nodes[from]?.name} ${both.nodes[to]?.name} ${lines.join(",")}`,
    );
    expect(edges.sort()).toEqual(["a b 4", "b c 2", "c a 3,4", "checks a 2"]);
  });

  test("whoever hands a function on is a caller: call, apply, bind and callbacks, in other languages, too", async () => {
    const graph = await graphOf({
      "a.js": `function target(a) { return a; }
function direct() { return target(1); }
function viaCall() { return target.call(null, 1); }
function viaApply() { return target.apply(null, [1]); }
function viaBind() { return [1].map(target.bind(null)); }
function viaArg() { return [1].map(target); }
function none() { const value = LIMIT; return value; }
const LIMIT = 1;
module.exports = { direct, viaCall, viaApply, viaBind, viaArg, handler: target };
`,
      "b.py": "def key(a):\n    return a\n\ndef ordered(xs):\n    return sorted(xs, key=key)\n",
    });
    const callers = ["direct", "viaCall", "viaApply", "viaBind", "viaArg"];
    const above = graph.lineage("target", { direction: "callers", depth: 1 });
    expect(names(above.nodes)).toEqual(["target 0", ...callers.map((name) => `${name} -1`)]);
    expect(graph.inspect("target").symbols[0]?.callers.map(({ name }) => name)).toEqual(callers);
    expect(names(graph.lineage("viaArg", { direction: "callees", depth: 1 }).nodes)).toContain("target 1");
    expect(names(graph.lineage("LIMIT", { direction: "callers", depth: 1 }).nodes)).toEqual(["LIMIT 0"]);
    expect(names(graph.lineage("key", { direction: "callers", depth: 1 }).nodes)).toEqual([
      "key 0",
      "ordered -1",
    ]);
  });

  test("is bounded, and says so", async () => {
    const graph = await graphOf(CYCLE);
    const { nodes, truncated } = graph.lineage("a", { depth: 9, limit: 2 });
    expect(nodes).toHaveLength(2);
    expect(truncated).toBe(true);
  });
});

describe("REQ-R5 inspect", () => {
  test("gives the definition, its words, its neighbours and its tests", async () => {
    const graph = await graphOf(CYCLE);
    const [card] = graph.inspect("a").symbols;
    expect(card).toMatchObject({
      definition: { path: "a.ts", line: 3, kind: "function" },
      signature: "export function a(): void",
      doc: "Starts it.",
      tests: [{ path: "test/a.test.ts", line: 2, inside: "checks" }],
    });
    expect(card?.callers.map(({ name }) => name)).toEqual(["c", "checks"]);
    expect(card?.callees.map(({ name }) => name)).toEqual(["b"]);
  });

  test("a class shows parents, children and members", async () => {
    const graph = await graphOf({
      "a.py":
        'class Base:\n    pass\nclass Store(Base):\n    """Keeps things.\n\n    For long.\n    """\n    def open(self, path: str) -> None:\n        """Opens it."""\nclass Child(Store):\n    pass\n',
    });
    const [card] = graph.inspect("Store").symbols;
    expect(card?.parents.map(({ name }) => name)).toEqual(["Base"]);
    expect(card?.children.map(({ name }) => name)).toEqual(["Child"]);
    expect(card?.members.map(({ qualified }) => qualified)).toEqual(["Store.open"]);
    expect(card?.doc).toBe("Keeps things.\n\nFor long.");
    expect(graph.inspect("Store.open").symbols[0]).toMatchObject({
      signature: "def open(self, path: str) -> None:",
      doc: "Opens it.",
    });
  });

  test("a path gives the file: what it defines, imports, and who imports it", async () => {
    const graph = await graphOf({
      ...CYCLE,
      "d.ts": 'import { z } from "zod";\nimport { a } from "./a.ts";\nexport const d = a;\nz;\n',
    });
    expect(graph.inspect("./a.ts").file).toMatchObject({
      imports: ["b.ts"],
      importedBy: ["c.ts", "d.ts"],
      tests: ["test/a.test.ts"],
    });
    expect(graph.inspect("d.ts").file?.packages).toEqual(["zod"]);
  });
});

describe("REQ-R5 words for a symbol", () => {
  const files = {
    "pkg/store.py":
      "class Store:\n    def open(self):\n        return 1\n\nclass Gate:\n    def open(self):\n        return 2\n",
  };

  test.each([
    ["open", ["Gate.open", "Store.open"]],
    ["Store.open", ["Store.open"]],
    ["Store::open", ["Store.open"]],
    ["Store#open", ["Store.open"]],
    ["Store.open()", ["Store.open"]],
    ["pkg.store.Store.open", ["Store.open"]],
    ["pkg/store.py:6", ["Gate.open"]],
    ["pkg/store.py:7", ["Gate.open"]],
    ["pkg/store.py#L1-L3", ["Store"]],
    ["pkg/store.py:Gate", ["Gate"]],
    ["other.Store.shut", []],
    ["nowhere.py:3", []],
    ["", []],
    ["...", []],
  ])("%s", async (word, qualified) => {
    const graph = await graphOf(files);
    expect(
      graph
        .whereUsed(word)
        .definitions.map((at) => at.qualified)
        .sort(),
    ).toEqual(qualified);
  });

  test("an unknown word gets the nearest ones", async () => {
    const graph = await graphOf({ "a.ts": "export const openStore = 1;\nexport const parseLine = 2;\n" });
    expect(graph.whereUsed("opneStore").suggestions).toEqual(["openStore"]);
    expect(graph.lineage("open_store").suggestions).toEqual(["openStore"]);
    expect(graph.inspect("Line").suggestions).toEqual(["parseLine"]);
    expect(graph.whereUsed("zzzzzz").suggestions).toEqual([]);
  });
});

describe("REQ-R5 FAIL-F2 changes", () => {
  test("renames, deletions and moved lines are seen at once", async () => {
    const graph = await graphOf(CYCLE);
    expect(usesOf(graph, "b")).toEqual(["a.ts:1", "a.ts:4"]);
    graph.put("a.ts", "typescript", await symbolsOf("a.ts", `\n\n${CYCLE["a.ts"]}`));
    expect(usesOf(graph, "b")).toEqual(["a.ts:3", "a.ts:6"]);
    graph.remove("b.ts");
    expect(graph.whereUsed("b").definitions).toEqual([]);
    graph.put("b.ts", "typescript", await symbolsOf("b.ts", "export const renamed = () => 1;\n"));
    expect(usesOf(graph, "renamed")).toEqual([]);
    graph.remove("never.ts");
    expect(graph.stats().files).toBe(4);
  });

  test("centrality: what others rest on is above what rests on others", async () => {
    const graph = await graphOf({
      "base.ts": "export const base = 1;\n",
      "a.ts": 'import { base } from "./base.ts";\nexport const a = base;\n',
      "b.ts": 'import { base } from "./base.ts";\nexport const b = base;\n',
      "main.ts": 'import { a } from "./a.ts";\nimport { b } from "./b.ts";\na + b;\n',
    });
    const before = runSteps(graph.centrality());
    expect(before.get("base.ts")).toBe(1);
    expect(before.get("a.ts")).toBeGreaterThan(0);
    expect(before.get("main.ts")).toBe(0);
    expect(before.get("missing.ts")).toBeUndefined();
    graph.remove("a.ts");
    graph.remove("b.ts");
    expect(runSteps(graph.centrality()).get("base.ts")).toBe(0);
  });

  test("centrality: the outline of files is enough", async () => {
    const files = {
      "x/Store.java": "package x; public class Store { public void open() {} void close() {} }\n",
      "y/App.java": "package y; import x.Store; class App { Store store; void run() { store.open(); } }\n",
      "y/Main.java": "package y; class Main { void main() { new App().run(); } }\n",
    };
    const whole = await graphOf(files);
    const outlined = createGraph();
    for (const [path, text] of Object.entries(files))
      outlined.put(path, "java", outlineSymbols(await symbolsOf(path, text)));
    const found = runSteps(outlined.centrality());
    expect(found.get("x/Store.java")).toBe(1);
    expect([...found]).toEqual([...runSteps(whole.centrality())]);
  });
});
