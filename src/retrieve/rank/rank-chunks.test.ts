import { describe, expect, test } from "vitest";
import { categoryOf } from "./file-category.ts";
import { shapeOf } from "./query-shape.ts";
import { type Candidate, rankChunks } from "./rank-chunks.ts";

let nextId = 1;
const candidate = (path: string, more: Partial<Candidate> = {}): Candidate => ({
  id: nextId++,
  path,
  kind: "code",
  name: "",
  defines: [],
  lexical: 1,
  similarity: 0.5,
  ...more,
});

const order = (query: string, candidates: readonly Candidate[], centrality?: (path: string) => number) =>
  rankChunks(shapeOf(query), candidates, { leastSimilarity: 0, centrality }).map(
    ({ candidate: { path } }) => path,
  );

describe("the shape of a query", () => {
  test.each([
    ["Store", true, ["store"]],
    ["Store.open", true, ["open"]],
    ["std::fmt", true, ["fmt"]],
    ["open_store()", true, ["openstore"]],
    ["empty?", true, ["empty"]],
    ["how does StaticModel encode text", false, ["staticmodel"]],
    ["where are files opened", false, []],
    ["C++", false, []],
    ["how to?", false, []],
    ["", false, []],
  ])("%j", (query, isSymbol, names) => {
    const shape = shapeOf(query);
    expect(shape.isSymbol).toBe(isSymbol);
    expect([...shape.names.keys()]).toEqual(names);
  });

  test("drops words of questions, unless there are no others", () => {
    expect([...shapeOf("how does the router work").stems]).toEqual(["router"]);
    expect(shapeOf("how to?").stems.size).toBe(2);
  });
});

describe("files that are held back", () => {
  test.each([
    ["src/app.test.ts", "test"],
    ["tests/app.py", "test"],
    ["src/AppTest.java", "test"],
    ["src/latest.ts", undefined],
    ["src/contest/attest.py", undefined],
    ["examples/hello.go", "example"],
    ["README.md", "docs"],
    ["third_party/zlib/inflate.c", "vendored"],
    ["api/user.pb.go", "generated"],
    ["core/commonTest/src/Flow.kt", "test"],
    ["src/app.ts", undefined],
  ])("%s: %s", (path, aside) => {
    expect(categoryOf(path)).toBe(aside);
  });
});

describe("ranking", () => {
  test("the exact definition comes first, before documents and users that match better: FAIL-F4", () => {
    const ranked = order("openStore", [
      candidate("docs/open-store.md", { lexical: 30, similarity: 0.99, kind: "prose" }),
      candidate("src/open-store/use.ts", { lexical: 20, similarity: 0.9 }),
      candidate("src/deep/other.ts", { defines: ["openStore"], lexical: 2, similarity: 0.1 }),
      candidate("test/open-store.test.ts", { defines: ["openStore"], lexical: 25, similarity: 0.95 }),
    ]);
    expect(ranked[0]).toBe("src/deep/other.ts");
    expect(ranked[1]).toBe("test/open-store.test.ts");
  });

  test("what mentions a name comes before what only resembles it, also from a test: FAIL-F4", () => {
    const mentions = candidate("test/app.test.ts", { lexical: 9, similarity: 0 });
    const resembles = candidate("src/near.ts", { lexical: 0, similarity: 0.9 });
    expect(order("quxzelFlag", [resembles, mentions])[0]).toBe("test/app.test.ts");
    expect(order("where the quxzel flag is read", [resembles, mentions])[0]).toBe("src/near.ts");
  });

  test("a qualified name prefers its own class, and the case as written comes before another", () => {
    expect(
      order("Store.open", [
        candidate("a.ts", { name: "File.open", defines: ["open"], lexical: 5 }),
        candidate("b.ts", { name: "Store.open", defines: ["open"] }),
      ])[0],
    ).toBe("b.ts");
    expect(
      order("store.open", [
        candidate("src/file.py", { defines: ["open"], lexical: 5 }),
        candidate("src/store.py", { defines: ["open"] }),
      ])[0],
    ).toBe("src/store.py");
    expect(
      order("Request", [
        candidate("a.ts", { defines: ["request"], lexical: 1.2 }),
        candidate("b.ts", { defines: ["Request"] }),
      ])[0],
    ).toBe("b.ts");
  });

  test("of several definitions of a name, the one that others rest on; but a file called so stays first", () => {
    const rests = (path: string): number => (path === "b.ts" ? 1 : 0);
    const rivals = [candidate("a.ts", { defines: ["Config"] }), candidate("b.ts", { defines: ["Config"] })];
    expect(order("Config", rivals)).toEqual(["a.ts", "b.ts"]);
    expect(order("Config", rivals, rests)).toEqual(["b.ts", "a.ts"]);
    expect(order("Config", [...rivals, candidate("config.ts", { defines: ["Config"] })], rests)[0]).toBe(
      "config.ts",
    );
  });

  test("nobody is asked what rests on a file where that decides nothing", () => {
    const asked = (): number => {
      throw new Error("asked");
    };
    const files = [candidate("a.ts", { defines: ["Config"] }), candidate("b.ts")];
    expect(order("Config", files, asked)[0]).toBe("a.ts");
    expect(order("where the config is read", files, asked)).toHaveLength(2);
  });

  test("scores differ with relevance, and equal ones keep an order that does not depend on the input's: FAIL-F4", () => {
    const all = [
      candidate("a.ts", { lexical: 3 }),
      candidate("b.ts", { lexical: 2 }),
      candidate("c.ts"),
      candidate("d.ts"),
    ];
    const forward = rankChunks(shapeOf("reading config"), all, { leastSimilarity: 0 });
    const backward = rankChunks(shapeOf("reading config"), all.toReversed(), { leastSimilarity: 0 });
    expect(forward).toEqual(backward);
    expect(new Set(forward.map(({ score }) => score)).size).toBe(3);
  });

  test("tests are held back unless they are asked for", () => {
    const files = [candidate("test/login.ts", { lexical: 1.2 }), candidate("src/login.ts")];
    expect(order("login of users", files)[0]).toBe("src/login.ts");
    expect(order("tests of the login", files)[0]).toBe("test/login.ts");
  });

  test("the file called so comes before one that mentions it a little more", () => {
    expect(
      order("session middleware", [
        candidate("src/app.ts", { lexical: 1.2 }),
        candidate("src/session.ts"),
      ])[0],
    ).toBe("src/session.ts");
    expect(
      order("session middleware", [
        candidate("src/app.ts", { lexical: 1.2 }),
        candidate("src/session/index.ts"),
      ])[0],
    ).toBe("src/session/index.ts");
  });

  test("several good chunks lift a file, and the best chunk of each file comes before the second of any", () => {
    const ranked = order("parse tokens", [
      candidate("one.ts", { lexical: 10 }),
      candidate("many.ts", { lexical: 9.9 }),
      candidate("many.ts", { lexical: 9.8 }),
      candidate("many.ts", { lexical: 9.7 }),
    ]);
    expect(ranked).toEqual(["many.ts", "one.ts", "many.ts", "many.ts"]);
  });

  test("prose is ranked by its words, code also by its meaning", () => {
    const near = { lexical: 0.5, similarity: 1 };
    const worded = { lexical: 1, similarity: 0.3 };
    expect(
      order("x y", [
        candidate("a", { ...near, kind: "prose" }),
        candidate("b", { ...worded, kind: "prose" }),
      ])[0],
    ).toBe("b");
    expect(order("x y", [candidate("a", near), candidate("b", worded)])[0]).toBe("a");
  });

  test("no candidates, and candidates without any score", () => {
    expect(order("x", [])).toEqual([]);
    expect(order("x", [candidate("a.ts", { lexical: 0, similarity: 0 })])).toEqual(["a.ts"]);
  });
});
