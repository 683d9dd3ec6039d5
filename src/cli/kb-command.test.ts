import { describe, expect, test, vi } from "vitest";
import { pipeIo } from "../../test/command-line.ts";
import { type KbOperator, progressBar, runKb } from "./kb-command.ts";
import { renderCollections, renderForgotten } from "./kb-render.ts";

const REPORT = {
  collection: "hand",
  version: "1.0.0",
  dryRun: false,
  added: [],
  changed: [],
  removed: [],
  unchanged: 0,
  failed: [],
  warned: [],
  unread: [],
};

describe("progress of reading: REQ-K1", () => {
  test.each([
    [0, 4, "[--------------------] 0/4"],
    [1, 4, "[#####---------------] 1/4"],
    [4, 4, "[####################] 4/4"],
    [9, 4, "[####################] 9/4"],
    [7, undefined, "7 documents"],
  ])("%d of %s", (done, total, bar) => {
    expect(progressBar(done, total)).toBe(bar);
  });

  test("what was not read in full is named", async () => {
    const warned = [{ uri: "docs/a.pdf", warnings: ["2 pages hold no text; they may be images."] }];
    const pipe = pipeIo();
    const add: KbOperator["add"] = async () => ({ ...REPORT, added: ["docs/a.pdf"], warned });
    const command = { do: "add", name: "hand", sources: ["docs"], dryRun: false } as const;
    const run = { json: false, signal: new AbortController().signal, now: () => 0 };
    await runKb(command, { add } as KbOperator, pipe.io, run);
    expect(pipe.out).toContain("0 failed, 1 not read in full");
    expect(pipe.out).toContain("? docs/a.pdf: 2 pages hold no text; they may be images.");
  });

  test("a terminal sees it, to the last document", async () => {
    const pipe = pipeIo();
    const drawn: string[] = [];
    const io = { ...pipe.io, canRedraw: true, redraw: (line: string) => void drawn.push(line) };
    const add: KbOperator["add"] = async (_, __, ___, { onProgress }) => {
      for (const done of [1, 2, 3]) onProgress({ done, total: 3, source: "docs", failed: 0 });
      return REPORT;
    };
    const command = { do: "add", name: "hand", sources: ["docs"], dryRun: false } as const;
    const run = { json: false, signal: new AbortController().signal, now: () => 0 };
    await runKb(command, { add } as KbOperator, io, run);
    expect(drawn).toEqual([
      "reading docs: [######--------------] 1/3",
      "reading docs: [####################] 3/3",
      "",
    ]);
  });
});

test("REQ-K1: a source that a version will have is listed before it is promoted, with the version", () => {
  const version = { documents: 1, chunks: 1, failures: 0, scores: undefined, isImported: false };
  const generations = [
    { ...version, version: "1.1.0", state: "complete", sources: ["docs", "more"] },
    { ...version, version: "1.0.0", state: "sealed", sources: ["docs"] },
  ] as const;
  const listed = renderCollections([
    { name: "hand", product: "", active: "1.0.0", pinned: undefined, generations, unreadable: 0 },
  ]);
  expect(listed.split("\n").slice(2)).toEqual(["  from docs", "  from more (1.1.0)"]);
});

test("REQ-K1: after the last source nothing is left to promote", () => {
  const forgotten = { collection: "hand", version: "1.1.0", removed: ["a.md"], left: 1 };
  expect(renderForgotten(forgotten)).toBe("hand 1.1.0: 1 document removed; next: llmc kb promote hand");
  expect(renderForgotten({ ...forgotten, left: 0 })).toBe(
    "hand 1.1.0: 1 document removed; none is left; next: llmc kb add hand SOURCE, or llmc kb rm hand",
  );
});

describe("removing old versions: REQ-K2", () => {
  test.each(["x", "-1", "1.5", "", "1e1"])("--keep %s removes nothing", async (keep) => {
    const collect = vi.fn();
    const run = { json: false, signal: new AbortController().signal, now: () => 0 };
    const removing = runKb({ do: "gc", keep }, { collect } as unknown as KbOperator, pipeIo().io, run);
    await expect(removing).rejects.toMatchObject({ code: "invalid_args" });
    expect(collect).not.toHaveBeenCalled();
  });
});
