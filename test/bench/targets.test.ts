import { describe, expect, test } from "vitest";
import type { Figures } from "../../bench/lib/report.ts";
import { numberAt, quotedRows, readResult } from "./saved-figures.ts";
import { countedOf, totalsOf } from "./workflow-totals.ts";

/** Figures of a benchmark in the result file that the README's row cites. */
const cited = (row: RegExp, benchmark: string): Figures => {
  const found = quotedRows().find(({ what }) => row.test(what));
  const saved = found && readResult(found.commit)[benchmark];
  if (saved === undefined) throw new Error(`the README cites no saved ${benchmark}`);
  return saved.figures;
};

describe("the token benchmark against Desktop Commander, as the README cites it", () => {
  const figures = cited(/scripted tasks/, "workflows");

  test("both peers ran, and all ten tasks were done with Desktop Commander too", () => {
    expect(figures["missing"]).toBe("");
    const counted = countedOf(figures);
    expect([...counted.keys()].toSorted()).toEqual(
      Array.from({ length: 10 }, (_, i) => `W${i + 1}`).toSorted(),
    );
    for (const [id, { ours, commander }] of counted) {
      expect(ours, id).toBeGreaterThan(0);
      expect(commander, id).toBeGreaterThan(0);
    }
  });

  test("with hybrid mode's tools; the whole list of the large directory was measured beside its first page", () => {
    expect(figures["mode"]).toBe("hybrid");
    expect(numberAt(figures, "tokens", "W8 all", "ours")).toBeGreaterThan(
      numberAt(figures, "tokens", "W8", "ours"),
    );
  });

  test("at least 50 % fewer tokens in total, summed anew", () => {
    const { ours, commander } = totalsOf(figures);
    expect(1 - ours / commander).toBeGreaterThanOrEqual(0.5);
    expect(numberAt(figures, "below_commander")).toBeCloseTo(1 - ours / commander, 4);
  });

  test("no task costs more than with the better peer", () => {
    for (const [id, { ours, commander, official }] of countedOf(figures)) {
      expect(ours, id).toBeLessThanOrEqual(Math.min(commander ?? Infinity, official ?? Infinity));
    }
  });
});

describe("the latency targets, in the results that the README cites", () => {
  const http = cited(/^HTTP: p95/, "http");

  test.each([
    ["a request that does nothing", ["latency", "health"], 15],
    ["a tool call", ["latency", "read_file"], 150],
  ] as const)("%s at 100 r/s on 100 connections: p95", (_name, path, limitMs) => {
    expect(numberAt(http, ...path, "p95_ms")).toBeLessThanOrEqual(limitMs);
    expect(numberAt(http, ...path, "failed")).toBe(0);
    expect(numberAt(http, ...path, "per_second")).toBeGreaterThanOrEqual(99);
    expect(numberAt(http, ...path, "answered")).toBeGreaterThanOrEqual(1000);
  });

  test("10 r/s for a minute with the default limits: none fails; a burst gets 20 to 22 and 429 for the rest", () => {
    expect(numberAt(http, "defaults", "steady_requests")).toBeGreaterThanOrEqual(600);
    expect(numberAt(http, "defaults", "steady_failed")).toBe(0);
    const passed = numberAt(http, "defaults", "burst_ok");
    expect(passed).toBeGreaterThanOrEqual(20);
    expect(passed).toBeLessThanOrEqual(22);
    expect(numberAt(http, "defaults", "burst_429") + passed).toBe(40);
  });

  test("search: p95 within 100 ms, over all repositories and over a million lines", () => {
    const index = cited(/^a million lines: peak memory/, "index");
    expect(numberAt(index, "chunks")).toBeGreaterThanOrEqual(20_000);
    expect(numberAt(index, "query_p95_ms")).toBeLessThan(100);
    expect(numberAt(index, "million_lines")).toBeGreaterThanOrEqual(1_000_000);
    expect(numberAt(index, "million_query_p95_ms")).toBeLessThan(100);
  });

  test("a call over stdio that does nothing: p95 within 15 ms", () => {
    const noop = cited(/^a call that does nothing/, "noop");
    expect(numberAt(noop, "free", "llmc custom noop", "p95_ms")).toBeLessThanOrEqual(15);
  });
});
