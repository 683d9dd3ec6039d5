import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { versionsInTurn } from "../../bench/lib/localisation-together.ts";
import { chosenSets, localisation } from "../../bench/localisation.ts";
import { tempWorkspace } from "../app.ts";
import { launcher } from "../workspace.ts";

const FILES = {
  "zoo/walrus.py":
    '"""Walruses."""\n\n\ndef feed_walrus(kilos):\n    raise ValueError("no fish for the walrus")\n',
  "zoo/giraffe.py": '"""Giraffes."""\n\n\ndef measure_neck(giraffe):\n    return giraffe.neck\n',
  "zoo/tickets.py": "def sell_ticket(adults):\n    return adults * 12\n",
};

const REPORTS = [
  {
    _id: "a-1",
    repo: "a/zoo",
    text: "No fish\nValueError: no fish for the walrus\n",
    gold: ["zoo/walrus.py"],
  },
  { _id: "b-1", repo: "b/zoo", text: "The `measure_neck` of a giraffe\nis wrong.", gold: ["zoo/giraffe.py"] },
];

const writeSet = (folder: string): void => {
  mkdirSync(folder, { recursive: true });
  const lines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const packed = (rows: readonly unknown[]): Buffer => execFileSync("xz", ["-c"], { input: lines(rows) });
  const files = Object.fromEntries(Object.keys(FILES).map((path) => [path, path]));
  writeFileSync(join(folder, "queries.jsonl"), lines(REPORTS));
  writeFileSync(join(folder, "blobs.jsonl.xz"), packed(Object.entries(FILES).map(([h, t]) => ({ h, t }))));
  writeFileSync(join(folder, "trees.jsonl.xz"), packed(REPORTS.map(({ _id }) => ({ _id, files }))));
};

afterEach(() => vi.unstubAllEnvs());

describe("REQ-R12: the harness of bug reports", () => {
  test("a set that does not exist is an error that names those that do", () => {
    expect(chosenSets(undefined, ["localisation-a"])).toEqual(["localisation-a"]);
    expect(chosenSets("localisation-a", ["localisation-a", "localisation-b"])).toEqual(["localisation-a"]);
    expect(() => chosenSets("localisation-c", ["localisation-a", "localisation-b"])).toThrow(
      "LLMC_BENCH_SETS names localisation-c; there is localisation-a, localisation-b",
    );
  });

  test("versions of all projects come in turn, the newest first", () => {
    const report = (project: string, tree: string) => ({
      id: tree,
      project,
      tree,
      text: "",
      gold: new Set<string>(),
    });
    const reports = [report("a", "a1"), report("a", "a2"), report("a", "a2"), report("b", "b1")];
    expect(versionsInTurn(reports).map(({ tree }) => tree)).toEqual(["a2", "b1", "a1"]);
  });

  test("figures by project beside BM25, tokens of answers and plans, times with documents and a history", async () => {
    const data = tempWorkspace();
    writeSet(join(data, "localisation-tiny"));
    vi.stubEnv("LLMC_BENCH_DATA", data);
    vi.stubEnv("LLMC_BENCH_SETS", "localisation-tiny");
    vi.stubEnv("LLMC_BENCH_CACHE", join(data, "cache"));
    const { figures } = await localisation.run({ quick: false, program: launcher });
    const found = { acc_1: 1, acc_3: 1, acc_5: 1, acc_10: 1, mrr: 1 };
    expect(figures).toMatchObject({
      parts: {
        "localisation-tiny": {
          ...found,
          tokens: expect.any(Number),
          plan_tokens: expect.any(Number),
          projects: {
            "a/zoo": { reports: 1, ...found, bm25: found },
            "b/zoo": { reports: 1, ...found, bm25: found },
          },
          together: {
            // Two versions of three modules and of the page that is made of the first.
            chunks: 8,
            p95_ms: expect.any(Number),
            hostile_ms: { parentheses: expect.any(Number) },
            hostile_cpu_ms: { parentheses: expect.any(Number) },
          },
        },
      },
    });
    const together = join(data, "cache", "localisation-tiny", "together", "all");
    const commits = execFileSync("git", ["rev-list", "--count", "main"], { cwd: together, encoding: "utf8" });
    expect(Number(commits)).toBeGreaterThan(300);
  });
});
