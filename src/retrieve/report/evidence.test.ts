import { describe, expect, test } from "vitest";
import type { RankedChunk } from "../rank/chunk-index.ts";
import { EVIDENCE_WEIGHTS, type Evidence, reasonsOf, scoreEvidence } from "./evidence.ts";
import { findPaths, mentionKey } from "./find-paths.ts";
import { literalLines } from "./literal-lines.ts";
import { messageEvidence, optionEvidence } from "./message-evidence.ts";
import { nameMentions } from "./name-mentions.ts";
import { rankFiles } from "./rank-files.ts";
import { readReport } from "./read-report.ts";
import { reportShape } from "./report-shape.ts";
import { frameEvidence, pathEvidence } from "./text-evidence.ts";

const FILES = [
  "lib/pkg/table.py",
  "lib/pkg/io/table.py",
  "lib/pkg/io/ui.py",
  "src/store.ts",
  "setup.py",
  "lib/pkg/core/frame.py",
];

describe("REQ-R3 paths from elsewhere", () => {
  test.each([
    ["/usr/lib/python3/dist-packages/pkg/io/ui.py", ["lib/pkg/io/ui.py"]],
    ["C:/venv/site-packages/pkg/table.pyc", ["lib/pkg/table.py"]],
    ["table.py", ["lib/pkg/table.py", "lib/pkg/io/table.py"]],
    ["/app/dist/store.js", []],
    ["https://github.com/o/r/blob/main/src/store.ts", ["src/store.ts"]],
    ["/site-packages/pandas/core/frame.pyx", []],
    ["/site-packages/numpy/table.py", []],
    ["table.eps", []],
    ["setup.py", ["setup.py"]],
  ])("%s", (path, meant) => {
    expect(findPaths([{ path }], FILES).get(mentionKey(path)) ?? []).toEqual(meant);
  });

  test("a module is named without an extension", () => {
    expect(findPaths([{ path: "pkg/io/table", isModule: true }], FILES)).toEqual(
      new Map([["pkg/io/table", ["lib/pkg/io/table.py"]]]),
    );
    expect(findPaths([{ path: "np/table", isModule: true }], FILES).size).toBe(0);
  });
});

describe("FAIL-F5 many spellings of a path that many files have", () => {
  const packages = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, i) => `src/p${i}/__init__.py`);
  const spellings = Array.from({ length: 50 }, (_, i) => `${"./".repeat(i)}__init__.py`);
  const trace = spellings.map((path) => `  File "${path}", line 1, in get`).join("\n");
  const mention = readReport(`It fails in many files\n\n${spellings.join(" \n")}`);
  const traced = readReport(`It fails\n\nTraceback (most recent call last):\n${trace}`);

  test("are one mention", () => {
    expect(pathEvidence(mention, packages(40))).toHaveLength(40);
  });

  test("say nothing where they mean too many", () => {
    expect(pathEvidence(mention, packages(41))).toEqual([]);
    expect(frameEvidence(traced, packages(41), () => 1)).toEqual([]);
    const one = readReport("It fails in many files\n\nsee p7/__init__.py there");
    expect(pathEvidence(one, packages(2000)).map(({ path }) => path)).toEqual(["src/p7/__init__.py"]);
  });
});

describe("REQ-R3 evidence of the text", () => {
  test("every part of a report of 32 KB is searched for to its end", () => {
    const filler = Array.from({ length: 1100 }, (_, n) => `word${n} again`).join(" ");
    const report = (before: string, after: string): string => `Title\n${before}${filler} lighthouse${after}`;
    for (const text of [report("", ""), report("```\n", "\n```"), report("ValueError: x\n", "")])
      expect([...reportShape(readReport(text.replaceAll(" again ", " again\n"))).terms.keys()]).toContain(
        "lighthous",
      );
  });

  test("the innermost frame of the project counts most", () => {
    const report = readReport(
      `T\nTraceback (most recent call last):\n  File "/x/pkg/table.py", line 3, in a\n    a\n  File "/x/pkg/io/ui.py", line 9, in b\n    b\n  File "/x/numpy/core.py", line 1, in c\n    c\nE: x`,
    );
    const found = frameEvidence(report, FILES, (_path, { line }) => line);
    expect(found.map(({ path, line, strength, reason }) => [path, line, strength, reason])).toEqual([
      ["lib/pkg/io/ui.py", 9, 1, "in the trace: b"],
      ["lib/pkg/table.py", 3, 0.5, "in the trace: a"],
    ]);
  });

  test("REQ-R3: all functions of a trace in one file are its reason", () => {
    const report = readReport(
      "It fails\n\nTypeError: x\n    at onSendEnd (/app/src/store.ts:9:3)\n    at wrapOnSendEnd (/app/src/store.ts:5:3)\n    at next (/app/node_modules/x/y.js:1:1)\n    at onSendEnd (/app/src/store.ts:9:3)\n",
    );
    const found = frameEvidence(report, FILES, (_path, { line }) => line);
    expect(new Set(found.map(({ reason }) => reason))).toEqual(
      new Set(["in the trace: onSendEnd, wrapOnSendEnd"]),
    );
  });

  test("a path with its line, and the name of a module", () => {
    const found = pathEvidence(readReport("It is in src/store.ts:12.\nand `pkg.io.ui` as well"), FILES);
    expect(found.map(({ path, line }) => `${path}:${line}`)).toEqual([
      "src/store.ts:12",
      "lib/pkg/io/ui.py:0",
    ]);
  });

  test("names, by where they stand", () => {
    const report = readReport("Broken `open` of RecordStore\nThe `save` of my_store is slow, as it was.");
    expect(nameMentions(report).map(({ name, emphasis }) => [name, emphasis])).toEqual([
      ["open", 1],
      ["RecordStore", 1],
      ["save", 0.75],
      ["my_store", 0.5],
      ["Broken", 0.5],
    ]);
  });

  test("options and English in quotes are no names", () => {
    const report = readReport(
      "Broken\nWith `--no-cache-dir`, `line-length` or `open_all the files of it`, --dry-run fails: `cannot open the file`.",
    );
    expect(nameMentions(report).map(({ name }) => name)).toEqual(["open_all", "Broken"]);
  });

  test("an option is found in strings, as a flag or as a key; many files have it by chance", () => {
    const sourceOf = (path: string, ...lines: readonly string[]) => ({
      path,
      startLine: 5,
      lines: literalLines(lines),
    });
    const sources = [
      sourceOf("a.py", "x = 1", 'add("--no-cache-dir")'),
      sourceOf("b.py", "no_cache_dir = 1  # --no-cache-dir"),
      sourceOf("c.py", 'get("no_cache_dir")'),
      sourceOf("d.py", 'get("no_cache_dir_at_all", "--no-cache-dirs")'),
    ];
    expect(optionEvidence("--no-cache-dir", sources)).toMatchObject([
      { path: "a.py", line: 6, strength: 0.5, reason: "has the option --no-cache-dir" },
      { path: "c.py", line: 5, strength: 0.5 },
    ]);
  });

  test("a message is found as it is written in the source, around what was filled in", () => {
    const lines = ["def f(line):", '    raise ValueError(f"Unrecognized QDP line: {line}")'];
    const source = { path: "a.py", startLine: 10, lines: literalLines(lines) };
    expect(messageEvidence("Unrecognized QDP line: read serr 1 2", source, "raises it")).toMatchObject({
      line: 11,
      strength: 3 / 7,
      reason: "raises it",
    });
    expect(messageEvidence("Unrecognized line of QDP", source, "")).toBeUndefined();
  });
});

const chunk = (path: string, startLine: number, score: number): RankedChunk => ({
  id: startLine,
  path,
  startLine,
  endLine: startLine + 9,
  kind: "code",
  name: "",
  defines: [],
  language: "python",
  score,
  relevance: 0.4,
});

const speaking = (path: string, more: Partial<Evidence> = {}): Evidence => ({
  kind: "frame",
  path,
  line: 0,
  strength: 1,
  reason: "in the trace",
  ...more,
});

test("FAIL-F5 as many files as a workspace may have are ranked", () => {
  const fileScores = new Map(Array.from({ length: 200_000 }, (_, i) => [`f${i}.py`, i]));
  const ranked = rankFiles([chunk("a.py", 1, 1)], { fileScores, evidence: [], weights: EVIDENCE_WEIGHTS });
  expect(ranked).toHaveLength(1);
});

describe("REQ-R4 files in the order of what speaks for them", () => {
  const rank = (evidence: readonly Evidence[], fileScores: Readonly<Record<string, number>> = {}) =>
    rankFiles([chunk("a.py", 1, 1), chunk("a.py", 20, 0.9), chunk("b.py", 1, 0.8), chunk("b.py", 20, 0.7)], {
      fileScores: new Map(Object.entries(fileScores)),
      evidence,
      weights: EVIDENCE_WEIGHTS,
    });
  const locations = (ranked: readonly RankedChunk[]) =>
    ranked.map(({ path, startLine }) => `${path}:${startLine}`);

  test("without evidence the text decides, one chunk of each file first", () => {
    expect(locations(rank([]))).toEqual(["a.py:1", "b.py:1", "a.py:20", "b.py:20"]);
    expect(locations(rank([], { "a.py": 2, "b.py": 4 }))).toEqual(["b.py:1", "a.py:1", "b.py:20", "a.py:20"]);
  });

  test("evidence lifts its file, and first the chunk that it points at, and says why", () => {
    const ranked = rank([speaking("b.py", { line: 25 })]);
    expect(locations(ranked)).toEqual(["b.py:20", "a.py:1", "b.py:1", "a.py:20"]);
    expect(ranked[0]).toMatchObject({ reasons: ["in the trace"], score: 1, relevance: 0.65 });
    expect(ranked[1]).toMatchObject({ relevance: 0.4 });
    expect(ranked[1]?.reasons).toBeUndefined();
  });

  test("hints of one kind add up, but never to more than its weight", () => {
    const of = (count: number) =>
      scoreEvidence(
        Array.from({ length: count }, () => speaking("a.py", { strength: 0.5 })),
        EVIDENCE_WEIGHTS,
      );
    expect(of(1)).toBeLessThan(of(2));
    expect(of(2)).toBeLessThan(of(50));
    expect(of(50)).toBeLessThanOrEqual(EVIDENCE_WEIGHTS.frame);
  });

  test("one reason of each kind, the strongest first", () => {
    const evidence = [
      speaking("a.py", { kind: "name", reason: "defines B", strength: 0.5 }),
      speaking("a.py", { kind: "name", reason: "defines A" }),
      speaking("a.py", { kind: "frame", reason: "in the trace: f" }),
      speaking("a.py", { kind: "test", reason: "tested by t.py", strength: 0.1 }),
    ];
    expect(reasonsOf(evidence, EVIDENCE_WEIGHTS, 2)).toEqual(["in the trace: f", "defines A"]);
  });
});
