import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BM25_B, BM25_K1 } from "./bm25.ts";
import { chunkTerms } from "./chunk-terms.ts";
import { createLexicalIndex, type LexicalIndex } from "./lexical-index.ts";
import { BYTES_PER_TERM, hashTerm, type PackedTerms } from "./packed-terms.ts";
import { tokenize } from "./tokenize.ts";

const pack = (text: string) => chunkTerms("", { text, name: "", defines: [] });

const unpack = (packed: PackedTerms): ReadonlyMap<number, number> => {
  const size = Math.floor(packed.byteLength / BYTES_PER_TERM);
  const view = new DataView(packed.buffer, packed.byteOffset);
  return new Map(
    Array.from({ length: size }, (_, at) => [view.getUint32(at * 4, true), packed[size * 4 + at] ?? 0]),
  );
};

const build = (texts: ReadonlyMap<number, string>): LexicalIndex => {
  const index = createLexicalIndex();
  for (const [id, text] of texts) index.add(id, pack(text));
  return index;
};

const TERMS = ["alpha", "beta", "gamma", "delta", "omega"];
const textOf = fc.array(fc.constantFrom(...TERMS), { maxLength: 8 }).map((chosen) => chosen.join(" "));

describe("the lexical index", () => {
  test("gives the scores of BM25, worked out by hand", () => {
    const index = build(
      new Map([
        [1, "alpha alpha beta"],
        [2, "alpha gamma"],
        [3, "delta"],
      ]),
    );
    const idf = Math.log(1 + (3 - 2 + 0.5) / (2 + 0.5));
    const part = (count: number, length: number): number =>
      (idf * count * (BM25_K1 + 1)) / (count + BM25_K1 * (1 - BM25_B + (BM25_B * length) / 2));
    const [first, second, ...others] = index.search(["alpha"], 10);
    expect(first?.id).toBe(1);
    expect(first?.score).toBeCloseTo(part(2, 3), 12);
    expect(second?.id).toBe(2);
    expect(second?.score).toBeCloseTo(part(1, 2), 12);
    expect(others).toEqual([]);
    expect(index.searchWith(["alpha"], 1, [3, 1, 2, 99, 2])).toEqual([
      first,
      { id: 3, score: 0 },
      second,
      { id: 99, score: 0 },
    ]);
  });

  test("any sequence of adds, replacements and removals equals a clean build", () => {
    const step = fc.record({ id: fc.nat(12), text: fc.option(textOf, { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.array(fc.constantFrom(...TERMS)), (steps, query) => {
        const index = createLexicalIndex();
        const texts = new Map<number, string>();
        for (const { id, text } of steps) {
          if (text === undefined) {
            index.remove(id);
            texts.delete(id);
          } else {
            index.add(id, pack(text));
            texts.set(id, text);
          }
        }
        const clean = build(new Map([...texts].reverse()));
        expect(index.size).toBe(texts.size);
        expect(index.search(query, 50)).toEqual(clean.search(query, 50));
      }),
    );
  });

  test("stays the same through compactions, at a size where they happen", () => {
    const text = (id: number): string =>
      Array.from({ length: 60 }, (_, at) => `w${(id * 31 + at * at) % 997}`).join(" ");
    const index = createLexicalIndex();
    const live = new Map<number, string>();
    for (let id = 0; id < 3000; id++) {
      index.add(id, pack(text(id)));
      live.set(id, text(id));
      if (id % 500 === 0) index.search(["w1"], 1);
    }
    for (let id = 0; id < 3000; id += 3) {
      index.remove(id);
      live.delete(id);
      if (id % 600 === 0) index.search(["w1"], 1);
    }
    for (let id = 1; id < 3000; id += 7) {
      index.add(id, pack(`${text(id)} changed`));
      live.set(id, `${text(id)} changed`);
    }
    const clean = build(live);
    for (const query of ["w1 w2 w3", "changed w5", "nothing"])
      expect(index.search(tokenize(query), 4000)).toEqual(clean.search(tokenize(query), 4000));
  });

  test("a filter drops chunks and changes no score", () => {
    const index = build(new Map([1, 2, 3, 4].map((id) => [id, `alpha ${"beta ".repeat(id)}`])));
    const all = index.search(["alpha"], 10);
    expect(index.search(["alpha"], 10, (id) => id % 2 === 0)).toEqual(all.filter(({ id }) => id % 2 === 0));
    expect(index.search(["alpha"], 1, (id) => id === 4).map(({ id }) => id)).toEqual([4]);
  });

  test.each([
    "foo.bar",
    "C++",
    "how to?",
    '"',
    "NEAR(",
    "*",
    "-x",
    "a AND NOT (b OR",
    "😀",
    "\u0000",
    "\ud800",
    "x ".repeat(5000),
    "é".repeat(10_000),
  ])("hostile query %# gives an answer or nothing: FAIL-F3", (query) => {
    const index = build(new Map([[7, "foo bar how to near x c"]]));
    for (const { id, score } of index.search(tokenize(query), 5)) {
      expect(id).toBe(7);
      expect(score).toBeGreaterThan(0);
    }
  });

  test("answers an empty index and a limit of 0", () => {
    expect(createLexicalIndex().search(["alpha"], 5)).toEqual([]);
    expect(build(new Map([[1, "alpha"]])).search(["alpha"], 0)).toEqual([]);
  });
});

describe("the terms of a chunk", () => {
  const countsOf = (path: string, text: string, name = "") => {
    const counts = unpack(chunkTerms(path, { text, name, defines: [] }));
    return (term: string): number => counts.get(hashTerm(term)) ?? 0;
  };

  test("path and names weigh more than the body; a count ends with its byte", () => {
    const count = countsOf("src/alpha.ts", `beta ${"delta ".repeat(1000)}`, "gamma");
    expect(count("beta")).toBe(1);
    expect(count("alpha")).toBeGreaterThan(1);
    expect(count("gamma")).toBeGreaterThan(1);
    expect(count("delta")).toBe(255);
  });

  test("are those that tokenize gives, as often as it gives them", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        const expected = Map.groupBy(tokenize(text), hashTerm);
        const found = unpack(chunkTerms("", { text, name: "", defines: [] }));
        expect([...found]).toEqual(
          [...expected]
            .map(([hash, terms]) => [hash, Math.min(255, terms.length)])
            .toSorted(([a = 0], [b = 0]) => a - b),
        );
      }),
    );
  });
});

describe("REQ-R3 groups of chunks", () => {
  const TEXTS = ["alpha beta", "alpha", "gamma beta beta", "delta"];
  const GROUPS = [0, 0, 1, 2];

  test("score as one chunk with all their texts would", () => {
    const chunks = createLexicalIndex();
    for (const [id, text] of TEXTS.entries()) chunks.add(id, pack(text));
    const whole = createLexicalIndex();
    for (const group of new Set(GROUPS))
      whole.add(group, pack(TEXTS.filter((_, id) => GROUPS[id] === group).join(" ")));
    const terms = new Map([
      ["alpha", 1],
      ["beta", 2],
    ]);
    const scores = chunks.scoreGroups(terms, (id) => GROUPS[id]);
    expect(scores).toHaveLength(3);
    for (const { id, score } of whole.search(terms, 10)) expect(scores[id]).toBeCloseTo(score, 10);
    expect(scores[2]).toBe(0);
    expect(chunks.scoreGroups(terms, (id) => (id === 3 ? 0 : undefined))).toEqual(new Float64Array([0]));
  });

  test("coverage is the share of the terms that a chunk has", () => {
    const index = createLexicalIndex();
    for (const [id, text] of TEXTS.entries()) index.add(id, pack(text));
    expect(index.coverage(["alpha", "beta", "alpha"], [0, 1, 3, 99])).toEqual(
      new Map([
        [0, 1],
        [1, 0.5],
      ]),
    );
    index.remove(0);
    expect(index.coverage(["alpha"], [0])).toEqual(new Map());
  });
});
