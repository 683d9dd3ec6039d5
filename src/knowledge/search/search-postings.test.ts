import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLexicalIndex } from "../../retrieve/terms/lexical-index.ts";
import { hashTerm, packTerms } from "../../retrieve/terms/packed-terms.ts";
import type { IndexedPassage } from "../store/contract.ts";
import { createArraysBuilder } from "./build-arrays.ts";
import { bytesOfArrays, type PassageArrays } from "./passage-arrays.ts";
import { createPostingsSearch } from "./search-postings.ts";

const DIMENSIONS = 4;

const packed = (counts: ReadonlyMap<string, number>): Uint8Array => {
  const terms = [...counts]
    .map(([term, count]) => ({ hash: hashTerm(term), count }))
    .sort((a, b) => a.hash - b.hash);
  return packTerms(
    terms.length,
    (at) => terms[at]?.hash ?? 0,
    (at) => terms[at]?.count ?? 0,
  );
};

const passageOf = (id: number, counts: ReadonlyMap<string, number>, isCode: boolean): IndexedPassage => ({
  id,
  document: Math.floor(id / 3),
  uri: `${Math.floor(id / 3)}.md`,
  kind: isCode ? "code" : "prose",
  terms: packed(counts),
  vector: new Int8Array([id % 127, 1, 2, 3]),
});

const arraysOf = (passages: readonly IndexedPassage[]): PassageArrays => {
  const builder = createArraysBuilder(passages.length, DIMENSIONS);
  for (const passage of passages) builder.add(passage);
  return builder.finish();
};

/** Frequent terms in most passages, rare ones in a few: what makes the search close its candidates early. */
const randomPassages = (seed: number, count: number): readonly IndexedPassage[] => {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return Array.from({ length: count }, (_, id) => {
    const counts = new Map<string, number>();
    for (let at = 0; at < 12; at++) {
      const term = `t${Math.floor(200 * next() ** 4)}`;
      counts.set(term, Math.min(255, (counts.get(term) ?? 0) + 1 + Math.floor(3 * next())));
    }
    return passageOf(id, counts, next() < 0.3);
  });
};

describe("BM25 over arrays", () => {
  test("finds what the index in memory finds, with the same scores, whatever it leaves unread: REQ-K3", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: 1, max: 900 }),
        fc.array(fc.integer({ min: 0, max: 220 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 20 }),
        (seed, count, asked, limit) => {
          const passages = randomPassages(seed, count);
          const lexical = createLexicalIndex();
          for (const { id, terms } of passages) lexical.add(id, terms);
          const arrays = arraysOf(passages);
          const terms = new Map(asked.map((term) => [`t${term}`, 1]));
          const all = new Map(lexical.search(terms, count).map(({ id, score }) => [id, score]));
          const search = createPostingsSearch(arrays);
          for (let round = 0; round < 2; round++) {
            const others = [0, count - 1];
            const found = search.search(terms, limit, others);
            const best = found.slice(0, Math.min(limit, all.size));
            const expected = lexical.search(terms, limit).map(({ score }) => score);
            expect(best.map(({ score }) => score.toFixed(9))).toEqual(expected.map((one) => one.toFixed(9)));
            for (const { slot, score } of found)
              expect(score).toBeCloseTo(all.get(arrays.ids[slot] ?? -1) ?? 0, 9);
            expect(new Set(found.map(({ slot }) => slot)).size).toBe(found.length);
            for (const slot of others) expect(found.some((one) => one.slot === slot)).toBe(true);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  test("coverage is that of the index in memory", () => {
    const passages = randomPassages(7, 300);
    const lexical = createLexicalIndex();
    for (const { id, terms } of passages) lexical.add(id, terms);
    const arrays = arraysOf(passages);
    const terms = ["t0", "t3", "t90", "never"];
    const slots = Array.from({ length: 300 }, (_, slot) => slot);
    const expected = lexical.coverage(lexical.rarity(terms), [...arrays.ids]);
    const { shares } = createPostingsSearch(arrays).coverage(terms, slots);
    shares.forEach((share, slot) => {
      expect(share).toBeCloseTo(expected.get(arrays.ids[slot] ?? -1) ?? 0, 9);
    });
  });

  test("prose comes before code, each with its own vectors, and four bytes are enough for a posting", () => {
    const passages = randomPassages(3, 100);
    const arrays = arraysOf(passages);
    const proseCount = arrays.prose.length / DIMENSIONS;
    for (const [slot, id] of arrays.ids.entries()) {
      const passage = passages[id];
      expect(passage?.kind).toBe(slot < proseCount ? "prose" : "code");
      const [rows, row] = slot < proseCount ? [arrays.prose, slot] : [arrays.code, slot - proseCount];
      expect([...rows.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS)]).toEqual([
        ...(passage?.vector ?? []),
      ]);
    }
    const postings = passages.reduce((sum, { terms }) => sum + terms.byteLength / 5, 0);
    const perTerm = 12 * arrays.hashes.length + 4;
    expect(bytesOfArrays(arrays)).toBe(4 * postings + perTerm + 100 * (DIMENSIONS + 16));
  });
});
