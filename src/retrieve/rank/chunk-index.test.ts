import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readEmbedderFiles } from "../../host/os/assets.ts";
import type { ChunkKind } from "../chunk/chunk.ts";
import { loadNearestRows } from "../embed/nearest-rows.ts";
import { createStaticEmbedder } from "../embed/static-embedder.ts";
import { chunkTerms } from "../terms/chunk-terms.ts";
import { type ChunkIndex, type ChunkQuery, createChunkIndex, type IndexedChunk } from "./chunk-index.ts";

const embedder = createStaticEmbedder(readEmbedderFiles());
const nearestRows = loadNearestRows();

const make = (
  id: number,
  path: string,
  text: string,
  defines: readonly string[] = [],
  kind: ChunkKind = "code",
): IndexedChunk => ({
  id,
  path,
  language: path.split(".").at(-1) ?? "",
  startLine: 1,
  endLine: text.split("\n").length,
  kind,
  name: defines[0] ?? "",
  defines,
  terms: chunkTerms(path, { text, name: defines[0] ?? "", defines }),
  vector: embedder.embedChunk(path, text),
});

const CHUNKS = [
  make(1, "src/store.ts", "export const openStore = (path) => new Store(path)", ["openStore"]),
  make(2, "src/http/server.ts", "listen on a port and answer requests", ["listen"]),
  make(
    3,
    "docs/store.md",
    "# Store\nopenStore opens the store. openStore is called by openStore users.",
    [],
    "prose",
  ),
  make(4, "config/app.yaml", "store:\n  path: ./data", [], "data"),
  make(5, "src/store.test.ts", "openStore(path).close()", []),
  make(6, "lib/store.py", "def open_store(path): return Store(path)", ["open_store"]),
];

const build = (chunks: readonly IndexedChunk[]): ChunkIndex => {
  const index = createChunkIndex({ dimensions: embedder.dimensions, nearestRows });
  for (const chunk of chunks) index.add(chunk);
  return index;
};

const ask = (index: ChunkIndex, query: string, more: Partial<ChunkQuery> = {}) =>
  index.search({ query, vector: embedder.embedQuery(query), scope: "both", limit: 10, ...more });

describe("the chunk index: REQ-R3", () => {
  const index = build(CHUNKS);

  test("the definition asked for comes first, in the way it is written: FAIL-F4", () => {
    expect(
      ask(index, "openStore")
        .map(({ id }) => id)
        .slice(0, 2),
    ).toEqual([1, 6]);
    expect(ask(index, "open_store")[0]?.id).toBe(6);
  });

  test.each([
    ["store.test.ts", "src/store.test.ts"],
    ["./lib/store.py", "lib/store.py"],
    ["lib/store.py", "lib/store.py"],
    ["APP.YAML", "config/app.yaml"],
    ["`store.md`", "docs/store.md"],
  ])("a question that is the name of a file, %s, is answered by it first: REQ-R3", (query, path) => {
    for (const scope of ["both", "auto"] as const)
      expect(ask(index, query, { scope })[0]).toMatchObject({ path, score: 1, relevance: 1 });
  });

  test("of a named file its beginning comes first, and of files of one name that nearest to the root", () => {
    const files = build([
      { ...make(1, "lib/util/reply.js", "reply in a folder below") },
      { ...make(2, "lib/reply.js", "reply reply reply reply"), startLine: 40, endLine: 40 },
      { ...make(3, "lib/reply.js", "'use strict'"), startLine: 1 },
    ]);
    expect(ask(files, "reply.js").map(({ id }) => id)).toEqual([3, 1, 2]);
    expect(
      ask(files, "what does reply.js say about a folder below").find(({ id }) => id === 3)?.relevance,
    ).toBe(1);
  });

  test("documents in the root are called by their titles, also misspelt ones", () => {
    const files = build([
      make(1, "LICENSE", "Permission is hereby granted", [], "prose"),
      make(2, "README.md", "# Readme", [], "prose"),
      make(3, "docs/README.md", "README README", [], "prose"),
      make(4, "src/docs.ts", "const README = 1", ["README"]),
      make(5, "src/licence.ts", "const licence = 1", ["licence"]),
    ]);
    expect(ask(files, "README", { scope: "auto" })[0]?.path).toBe("README.md");
    expect(ask(files, "licence", { scope: "auto" })[0]?.path).toBe("LICENSE");
    expect(ask(files, "run", { scope: "auto" }).every(({ relevance }) => relevance < 1)).toBe(true);
  });

  test("a question for guidance gets a document beside code that fits its words, one about code does not", () => {
    const files = build([
      ...[1, 2, 3, 4].map((id) =>
        make(id, `src/install${id}.ts`, "install packages, install tools", ["install"]),
      ),
      make(5, "README.md", "# Setup\nTo install it, run npm install.", [], "prose"),
    ]);
    const paths = (query: string) => ask(files, query, { scope: "auto", shown: 3 }).map(({ path }) => path);
    expect(paths("how do I install it")[2]).toBe("README.md");
    expect(paths("where does it install packages")).not.toContain("README.md");
  });

  test("scores go from 1 down", () => {
    const scores = ask(index, "how is the store opened").map(({ score }) => score);
    expect(scores[0]).toBe(1);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(new Set(scores).size).toBeGreaterThan(2);
  });

  test.each<readonly [string, Partial<ChunkQuery>, readonly number[]]>([
    ["scope repo", { scope: "repo" }, [1, 2, 4, 5, 6]],
    ["scope docs", { scope: "docs" }, [3]],
    ["a language", { language: "py" }, [6]],
    ["a glob", { pathGlobs: ["src/**"] }, [1, 2, 5]],
    ["several globs", { pathGlobs: ["lib/*.py", "docs/**"] }, [3, 6]],
    ["a kind", { kind: "data" }, [4]],
    ["a kind outside the scope", { kind: "prose", scope: "repo" }, []],
    ["no match", { pathGlobs: ["nowhere/**"] }, []],
  ])("filter by %s: REQ-R4", (_, filter, ids) => {
    const found = ask(index, "openStore path", filter).map(({ id }) => id);
    expect(found.toSorted((a, b) => a - b)).toEqual(ids);
  });

  test.each([
    "foo.bar",
    "C++",
    "how to?",
    '"',
    "NEAR(",
    "*",
    "-x",
    "😀",
    "",
    "\u0000",
    "openStore ".repeat(1000),
    "(".repeat(10_240),
  ])("hostile query %#: FAIL-F3", (query) => {
    for (const { score } of ask(index, query)) expect(score).toBeGreaterThanOrEqual(0);
  });

  test("the same function in two files; one goes, the other is still found: FAIL-F1", () => {
    const twice = build([
      make(1, "a.ts", "const twin = 1", ["twin"]),
      make(2, "b.ts", "const twin = 1", ["twin"]),
    ]);
    expect(ask(twice, "twin")).toHaveLength(2);
    twice.remove(1);
    expect(ask(twice, "twin").map(({ path }) => path)).toEqual(["b.ts"]);
  });

  test("any sequence of adds and removals answers like a clean build", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(CHUNKS.length - 1), fc.boolean()), { maxLength: 30 }), (steps) => {
        const changed = build([]);
        const live = new Map<number, IndexedChunk>();
        for (const [at, isAdd] of steps) {
          const chunk = CHUNKS[at];
          if (chunk === undefined) continue;
          if (isAdd) {
            changed.add(chunk);
            live.set(chunk.id, chunk);
          } else {
            changed.remove(chunk.id);
            live.delete(chunk.id);
          }
        }
        const clean = build([...live.values()].toReversed());
        for (const query of ["openStore", "how is a port opened", "store path"])
          expect(ask(changed, query)).toEqual(ask(clean, query));
      }),
      { numRuns: 40 },
    );
  });
});
