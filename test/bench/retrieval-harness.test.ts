import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Figures, Report } from "../../bench/lib/report.ts";
import { averageBy, ndcgAt, recallAt, reciprocalRank } from "../../bench/lib/retrieval-metrics.ts";
import { retrieval } from "../../bench/retrieval.ts";
import { tempWorkspace } from "../app.ts";
import { launcher } from "../workspace.ts";
import { writeTinySet } from "./tiny-set.ts";

describe("REQ-R12: the measures of the harness", () => {
  const gold = new Set(["a", "b"]);

  test.each([
    // By hand: gains are 1, 1/log2(3) = 0.6309, 1/2, …; the best order of two has 1.6309.
    [["a", "b"], 1, 1, 1],
    [["b", "a", "x"], 1, 1, 1],
    [["a", "x", "b"], 0.9197, 1, 1],
    [["x", "a"], 0.3869, 0.5, 0.5],
    [["x", "y", "z"], 0, 0, 0],
    [[], 0, 0, 0],
    [[..."0123456789", "a", "b"], 0, 1 / 11, 0],
  ])("%j: NDCG@10 %f, reciprocal rank %f, recall@10 %f", (ranked, ndcg, rank, recall) => {
    expect(ndcgAt(ranked, gold, 10)).toBeCloseTo(ndcg, 4);
    expect(reciprocalRank(ranked, gold)).toBeCloseTo(rank, 4);
    expect(recallAt(ranked, gold, 10)).toBeCloseTo(recall, 4);
  });

  test("more right files than ten cannot push the best order above 1", () => {
    const many = new Set(Array.from({ length: 15 }, (_, i) => `f${i}`));
    expect(ndcgAt([...many], many, 10)).toBeCloseTo(1, 10);
  });

  test("a question without an answer counts as 0, not as right", () => {
    expect(ndcgAt(["a"], new Set(), 10)).toBe(0);
    expect(recallAt(["a"], new Set(), 10)).toBe(0);
  });

  test("a right file that moves up never lowers the score, and no order beats the best one", () => {
    const ranked = fc.uniqueArray(fc.constantFrom(..."abcdefghijkl"), { minLength: 2 });
    fc.assert(
      fc.property(ranked, fc.uniqueArray(fc.constantFrom(..."abcdef"), { minLength: 1 }), (order, right) => {
        const wanted = new Set(right);
        const at = order.findIndex((path, i) => i > 0 && wanted.has(path));
        const score = ndcgAt(order, wanted, 10);
        expect(score).toBeLessThanOrEqual(1 + 1e-12);
        if (at < 0) return;
        const better = order.toSpliced(at, 1).toSpliced(at - 1, 0, order[at] ?? "");
        expect(ndcgAt(better, wanted, 10)).toBeGreaterThanOrEqual(score - 1e-12);
      }),
    );
  });

  test("groups count the same, however many questions they have", () => {
    const items = [..."aab"].map((group, i) => ({ group, value: [0, 1, 1][i] ?? 0 }));
    expect(averageBy(items, [({ group }) => group], ({ value }) => value)).toBe(0.75);
  });
});

/** One question of Python, answered; two of three of TypeScript: languages count the same. */
const EXPECTED = { ndcg_10: 0.8333, mrr: 0.8333, recall_10: 0.8333 };

describe("REQ-R12: the harness on a set of four questions, of which one has no answer", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const measure = async (through: string): Promise<Report> => {
    const folder = tempWorkspace();
    writeTinySet(folder);
    vi.stubEnv("LLMC_BENCH_DATA", folder);
    vi.stubEnv("LLMC_BENCH_THROUGH", through);
    for (const other of ["LLMC_BENCH_SETS", "LLMC_BENCH_ONNX"]) vi.stubEnv(other, undefined);
    return retrieval.run({ program: launcher, quick: false });
  };
  const of = (figures: Figures | undefined, name: string): Figures => figures?.[name] as Figures;

  test("the parts of the engine, beside each of its halves", { timeout: 60_000 }, async () => {
    const { tables, notes, figures } = await measure("");
    const systems = of(of(figures, "parts"), "code-search-dev");
    expect(Object.keys(systems)).toEqual(["hybrid", "BM25 only", "vectors only"]);
    expect(of(systems, "hybrid")).toMatchObject(EXPECTED);
    for (const system of Object.values(systems)) {
      expect(system).toEqual({
        ndcg_10: expect.any(Number),
        mrr: expect.any(Number),
        recall_10: expect.any(Number),
        tokens: expect.any(Number),
        p50_ms: expect.any(Number),
        p95_ms: expect.any(Number),
      });
      expect((system as Figures)["tokens"]).toBeGreaterThan(0);
      // No half can answer what is not there.
      expect((system as Figures)["recall_10"]).toBeLessThanOrEqual(0.8333);
    }
    expect(notes.filter((note) => note.startsWith("SKIPPED"))).toEqual(
      ["code-search-held-out", "cosqa", "scifact"].map((name) => `SKIPPED ${name}: not in the data folder`),
    );
    expect(notes.at(-1)).toMatch(/^code-search-dev: 4 questions, \d+ chunks/);
    const [all, byKind, byLanguage] = tables;
    expect(all?.head).toEqual(["code-search-dev", "NDCG@10", "MRR", "recall@10", "tokens"]);
    expect(all?.rows[0]?.slice(0, 4)).toEqual(["hybrid", "0.833", "0.833", "0.833"]);
    expect(byKind?.rows.map((row) => row.slice(0, 2))).toEqual([
      ["symbol", "1.000"],
      ["sentence", "0.500"],
    ]);
    expect(byLanguage?.rows.map((row) => row.slice(0, 2))).toEqual([
      ["python", "1.000"],
      ["typescript", "0.667"],
    ]);
  });

  test("rag_search of the real program scores the same", { timeout: 60_000 }, async () => {
    const { figures, notes } = await measure("rag_search");
    const systems = of(of(figures, "rag_search"), "code-search-dev");
    expect(Object.keys(systems)).toEqual(["hybrid"]);
    expect(of(systems, "hybrid")).toMatchObject(EXPECTED);
    expect(notes[0]).toContain("through rag_search of the real program");
  });
});
