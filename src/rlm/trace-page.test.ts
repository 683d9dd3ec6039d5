import { expect, test } from "vitest";
import { parseTrace, tracePage } from "./trace-page.ts";

const nodeAt = (id: string, depth: number) => ({
  id,
  depth,
  model: "m",
  task: { chars: 1, sha256: "0" },
  contextBytes: 1,
  contextSha256: "0",
  startMs: 0,
  endMs: 1,
  turns: [],
  calls: [],
  outcome: "<b>ok",
});

const pageOf = (nodes: readonly object[]): string =>
  tracePage(
    parseTrace(
      JSON.stringify({ llmc_trace: 1, session_id: "s", spending: {}, counts: {}, trajectory: "", nodes }),
    ),
    false,
  );

test("REQ-L10 each analysis stands once on the page, below the one that started it", () => {
  const page = pageOf([nodeAt("1", 0), nodeAt("1.1", 1), nodeAt("1.10", 1), nodeAt("1.1.1", 2)]);
  const order = [...page.matchAll(/analysis (1[\d.]*) /g)].map(([, id]) => id);
  expect(order).toEqual(["1", "1.1", "1.1.1", "1.10"]);
  expect(page).not.toContain("<b>ok");
});

test("FAIL-D6 a file whose analyses have the same ids makes no page that is exponentially larger", () => {
  const nodes = Array.from({ length: 12 }, (_, depth) =>
    Array.from({ length: 12 }, () => nodeAt(`1${".1".repeat(depth)}`, depth)),
  ).flat();
  expect(pageOf(nodes).length).toBeLessThan(200_000);
});

test("FAIL-D8 a file that only looks like a trace is refused as one, however it is broken", () => {
  const deep = Array.from({ length: 6000 }, (_, depth) => nodeAt(`1${".1".repeat(depth)}`, depth));
  const texts = [{ ...nodeAt("1", 0), turns: [{ costUsd: "dear" }] }];
  for (const nodes of [deep, texts, [5], [{ ...nodeAt("1", 0), calls: 5 }]])
    expect(() => pageOf(nodes as object[])).toThrow("not a trace of an analysis");
  const wide = Array.from({ length: 130_000 }, (_, at) => nodeAt(`${at}`, 0));
  expect(pageOf(wide)).toContain("analysis 129999");
});
