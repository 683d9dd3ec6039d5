import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { languageOf } from "../src/syntax/languages.ts";
import { BASELINE_ONLY } from "../src/syntax/load-grammar.ts";
import { SAMPLES } from "../test/syntax-samples.ts";
import type { GrammarRun, GrammarRunResult } from "./lib/grammar-run.ts";
import type { Benchmark, Figures } from "./lib/report.ts";
import { round } from "./lib/stats.ts";

const RUNNER = fileURLToPath(new URL("lib/grammar-run.ts", import.meta.url));

/** Undefined where the process did not survive. */
const measure = (run: GrammarRun): GrammarRunResult | undefined => {
  const { status, stdout } = spawnSync(process.execPath, [RUNNER, JSON.stringify(run)], { encoding: "utf8" });
  return status === 0 ? (JSON.parse(stdout) as GrammarRunResult) : undefined;
};

const cells = (result: GrammarRunResult | undefined): readonly (string | number)[] =>
  result === undefined ? ["ended", "ended"] : [Math.round(result.peakMb), round(result.mbPerSecond, 2)];

/** Whether switching V8's optimising compiler off for some grammars (`src/syntax/load-grammar.ts`) is worth its code. */
export const grammars: Benchmark = {
  name: "grammars",
  summary:
    "peak memory and speed of parsing with the grammars that V8 compiles with its baseline compiler only",
  run: async ({ quick }) => {
    const rows: (readonly (string | number)[])[] = [];
    const figures: Record<string, Figures> = {};
    for (const { path, source } of SAMPLES) {
      const { grammar } = languageOf(path, source);
      if (grammar === undefined || !BASELINE_ONLY.has(grammar) || Object.hasOwn(figures, grammar)) continue;
      const run = { grammar, source, ms: quick ? 300 : 3_000 };
      const baseline = measure({ ...run, asServer: true });
      const usual = measure({ ...run, asServer: false });
      rows.push([grammar, ...cells(baseline), ...cells(usual)]);
      figures[grammar] = {
        baselineMb: baseline?.peakMb ?? null,
        baselineMbPerSecond: baseline?.mbPerSecond ?? null,
        usualMb: usual?.peakMb ?? null,
        usualMbPerSecond: usual?.mbPerSecond ?? null,
      };
    }
    return {
      tables: [{ head: ["grammar", "peak MB", "MB/s", "peak MB by default", "MB/s by default"], rows }],
      notes: ["a few lines of each language, parsed for three seconds in a process of their own"],
      figures,
    };
  },
};
