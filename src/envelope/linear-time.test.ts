import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { enrich } from "./enrich/all.ts";
import type { Ran } from "./enrich/contract.ts";

const ROOM = import.meta.dirname;

/** Regular expressions as they are written: after a sign that no division follows, and not in a comment. */
const LITERAL =
  /(?:^|[=(,:?&|![]\s*|\n\s+)\/(?![*/ ])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([dgimsuvy]*)/g;

const regexes: readonly RegExp[] = readdirSync(ROOM, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
  .flatMap((name) => [...readFileSync(join(ROOM, name), "utf8").matchAll(LITERAL)])
  .map(([, source = "", flags = ""]) => new RegExp(source, flags.replace("g", "")));

/** The words of a regular expression, about as they stand in a text that it accepts. */
const sampleOf = ({ source }: RegExp): string =>
  source
    .replaceAll("\\s", " ")
    .replace(/\\d|\[\\d[^\]]*\]/g, "1")
    .replace(/\{[\d,]+\}|\(\?<?[:=!]|\\b|[\\^$?*+()[\]]/g, "")
    .slice(0, 40);

/** Below it a run says nothing about growth; work that grows with the square takes far longer at these sizes. */
const NOISE_MS = 12;

/** Linear work doubles (2), work that grows with the square does four times as much. */
const SUSPICIOUS = 3;

/** Processor time of this thread, in steps of a few ms: what other programs take on a busy machine does not count. */
const timeOf = (work: () => void): number => {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
};

const leastOf = (runs: number, work: () => void): number =>
  Math.min(...Array.from({ length: runs }, () => timeOf(work)));

/** How much longer twice the input takes, as a mean over three doublings; 2 where it is too quick to tell. */
const growthOf = (work: (size: number) => void, size: number): number => {
  // A first doubt costs few runs; it stands if many runs confirm it.
  for (const runs of [1, 12]) {
    const longest = leastOf(runs, () => work(8 * size));
    if (longest < NOISE_MS) return 2;
    const eight = leastOf(runs, () => {
      for (let i = 0; i < 8; i++) work(size);
    });
    const growth = 2 * Math.cbrt(longest / eight);
    if (runs > 1 || growth < SUSPICIOUS) return growth;
  }
  return 2;
};

const FILLERS = ["1", " ", ".", "a", ":", "1 "];

it("FAIL-B2 FAIL-C5 every regular expression of the room takes linear time, whatever a program prints", () => {
  expect(regexes.length).toBeGreaterThan(70);
  const slow: string[] = [];
  for (const regex of regexes)
    for (const cut of [0, 4, 8, 13, 20]) {
      const prefix = sampleOf(regex).slice(0, cut);
      for (const filler of FILLERS) {
        const work = (size: number): void => {
          regex.exec(`${prefix}${filler.repeat(size)}\u0001`);
        };
        const growth = growthOf(work, 2000);
        if (growth >= SUSPICIOUS) slow.push(`${regex} ${JSON.stringify([prefix, filler])} ${growth}`);
      }
    }
  expect(slow).toEqual([]);
}, 60_000);

const COMMANDS: readonly Ran["argv"][] = [
  ...[
    ["pytest"],
    ["vitest"],
    ["jest"],
    ["node", "--test"],
    ["cargo", "test"],
    ["go", "test"],
    ["npm", "test"],
  ],
  ...["status", "diff", "log", "show", "blame", "ls-files"].map((command) => ["git", command]),
  ...[["grep", "-rn", "x"], ["ls", "-l"], ["ls"], ["tree"], ["find"], ["cat"], ["make"]],
].map(([program = "", ...args]) => [program, ...args]);

/** What makes each parser take the output for its runner's. */
const TOTALS = [
  ...[
    "Test Suites: 1 total",
    "Tests:    1 failed, 1 total",
    " Test Files  1 failed (1)",
    "      Tests  1 failed (1)",
  ],
  ...["ℹ tests 1", "ℹ pass 1", "ℹ fail 1", "TAP version 13", "1 failed in 0.1s", "FAIL\texample.com/p\t0.1s"],
  ...["test result: FAILED. 1 passed; 1 failed; 0 ignored;", "✖ failing tests:", "=== FAILURES ==="],
].join("\n");

it("FAIL-B2 FAIL-C5 every enricher takes linear time for any number of lines of any kind", () => {
  const mixed = regexes.map(sampleOf).join("\n");
  const kinds = [
    ...[
      "FAILED a::t - boom\n",
      "not ok 1 - x\n  failureType: 'subtestsFailed'\n",
      "--- FAIL: x (0s)\n    a\n",
    ],
    ...["test at a:1:1\n✖ a (1ms)\n", "____ a ____\n", "FAIL  a\n  ● x\n", `${mixed}\n`],
  ];
  const slow: string[] = [];
  for (const argv of COMMANDS)
    for (const kind of kinds) {
      const work = (size: number): void => {
        const stdout = `${TOTALS}\n${kind.repeat(Math.ceil(size / kind.length))}${TOTALS}\n`;
        enrich({ argv, stdout, stderr: "", exitCode: 1, cut: false }, { maxTokens: 1000 });
      };
      const growth = growthOf(work, 25_000);
      if (growth >= SUSPICIOUS) slow.push(`${argv.join(" ")} ${JSON.stringify(kind.slice(0, 80))} ${growth}`);
    }
  expect(slow).toEqual([]);
}, 60_000);
