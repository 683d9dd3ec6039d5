import { existsSync, readdirSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tokenCounter } from "../src/host/os/token-counter.ts";
import {
  EVIDENCE_WEIGHTS,
  type EvidenceKind,
  type EvidenceWeights,
} from "../src/retrieve/report/evidence.ts";
import {
  type Located,
  type OpenReport,
  openBm25,
  openInProcess,
  openThroughProgram,
  timeTogether,
} from "./lib/localisation-runs.ts";
import { type BugReport, isFoundAt, readLocalisationSet } from "./lib/localisation-set.ts";
import type { Benchmark, Figures, Report, Table } from "./lib/report.ts";
import { average, reciprocalRank } from "./lib/retrieval-metrics.ts";
import { round } from "./lib/stats.ts";

const DATA_VARIABLE = "LLMC_BENCH_DATA";
const SETS_VARIABLE = "LLMC_BENCH_SETS";
const THROUGH_VARIABLE = "LLMC_BENCH_THROUGH";
/** A folder where projects and their indexes are kept for the next run; some gigabytes. */
const CACHE_VARIABLE = "LLMC_BENCH_CACHE";

const DEFAULT_DATA = fileURLToPath(new URL("../../shared/data", import.meta.url));
const PREFIX = "localisation-";
/** Named where they are missing. */
const KNOWN = ["localisation-dev"];

const DEPTHS = [1, 3, 5, 10] as const;

/** The answers to one report: with all evidence, and with other weights by their name. */
interface Outcome {
  readonly report: BugReport;
  readonly answer: Located;
  readonly others: ReadonlyMap<string, Located>;
  readonly chunks: number;
}

const LEFT_OUT = "without ";
const KINDS = Object.keys(EVIDENCE_WEIGHTS) as readonly EvidenceKind[];

/** The evidence beside the text, multiplied: how much its weights matter. */
const SCALES = [0, 0.5, 1, 2];
const scaled = (scale: number): EvidenceWeights => {
  const { chunk, file } = EVIDENCE_WEIGHTS;
  const rest = Object.entries(EVIDENCE_WEIGHTS).map(([kind, weight]) => [kind, weight * scale]);
  return { ...EVIDENCE_WEIGHTS, ...Object.fromEntries(rest), chunk, file };
};

const otherWeights = (): ReadonlyMap<string, EvidenceWeights> =>
  new Map([
    ...KINDS.map((kind) => [`${LEFT_OUT}${kind}`, { ...EVIDENCE_WEIGHTS, [kind]: 0 }] as const),
    ...SCALES.map((scale) => [`evidence × ${scale}`, scaled(scale)] as const),
  ]);

const runReports = async (
  reports: readonly BugReport[],
  open: OpenReport,
  others: ReadonlyMap<string, EvidenceWeights>,
): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = [];
  for (const report of reports) {
    const project = await open(report);
    try {
      // The first question loads the symbol graph; the second is timed.
      await project.ask();
      const answer = await project.ask();
      const found = new Map<string, Located>();
      for (const [name, weights] of others) found.set(name, await project.ask(weights));
      outcomes.push({ report, answer, others: found, chunks: project.chunks });
    } finally {
      await project.close();
    }
  }
  return outcomes;
};

type Answered = readonly { readonly report: BugReport; readonly answer: Located }[];

const accuracy = (answered: Answered, depth: number): number =>
  average(answered.map(({ report, answer }) => (isFoundAt(answer.files, report.gold, depth) ? 1 : 0)));

const mrr = (answered: Answered): number =>
  average(answered.map(({ report, answer }) => reciprocalRank(answer.files, report.gold)));

const row = (label: string, answered: Answered): readonly (string | number)[] => [
  label,
  answered.length,
  ...DEPTHS.map((depth) => accuracy(answered, depth).toFixed(3)),
  mrr(answered).toFixed(3),
];

const HEAD = ["reports", ...DEPTHS.map((depth) => `Acc@${depth}`), "MRR"];

const withWeights = (outcomes: readonly Outcome[], name: string): Answered =>
  outcomes.flatMap(({ report, others }) => {
    const answer = others.get(name);
    return answer === undefined ? [] : [{ report, answer }];
  });

/** The scale that is best for all other projects, tried on this one. */
const chosenByOthers = (outcomes: readonly Outcome[], project: string): string => {
  const rest = outcomes.filter(({ report }) => report.project !== project);
  const names = SCALES.map((scale) => `evidence × ${scale}`);
  return names.reduce((best, name) =>
    mrr(withWeights(rest, name)) > mrr(withWeights(rest, best)) ? name : best,
  );
};

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0;

const tablesOf = (set: string, outcomes: readonly Outcome[], bm25: readonly Outcome[]): readonly Table[] => {
  const projects = Map.groupBy(outcomes, ({ report }) => report.project);
  const names = [...(outcomes[0]?.others.keys() ?? [])];
  const tables: Table[] = [
    { head: [set, ...HEAD], rows: [row("rag_search", outcomes), row("BM25 of files", bm25)] },
    {
      head: ["project", ...HEAD, "MRR BM25"],
      rows: [...projects].map(([project, own]) => [
        ...row(project, own),
        mrr(bm25.filter(({ report }) => report.project === project)).toFixed(3),
      ]),
    },
  ];
  if (names.length === 0) return tables;
  const leftOut = [...projects.keys()].map((project) => {
    const name = chosenByOthers(outcomes, project);
    return { project, name, own: withWeights(projects.get(project) ?? [], name) };
  });
  return [
    ...tables,
    {
      head: ["evidence", ...HEAD],
      rows: [row("all", outcomes), ...names.map((name) => row(name, withWeights(outcomes, name)))],
    },
    {
      head: ["project left out", "chosen by the others", ...HEAD],
      rows: [
        ...leftOut.map(({ project, name, own }) => [project, name, ...row("", own).slice(1)]),
        [
          "all",
          "",
          ...row(
            "",
            leftOut.flatMap(({ own }) => own),
          ).slice(1),
        ],
      ],
    },
  ];
};

const figuresOf = (answered: Answered): Figures => ({
  ...Object.fromEntries(DEPTHS.map((depth) => [`acc_${depth}`, round(accuracy(answered, depth), 4)])),
  mrr: round(mrr(answered), 4),
});

export const localisation: Benchmark = {
  name: "localisation",
  summary:
    "from a bug report to the files that were changed: Acc@k by project, beside BM25, and by kind of evidence",
  needs: `the sets ${PREFIX}*, in ../shared/data or the folder ${DATA_VARIABLE} names, and xz`,
  run: async ({ quick, program }): Promise<Report> => {
    const data = process.env[DATA_VARIABLE] ?? DEFAULT_DATA;
    const cache = process.env[CACHE_VARIABLE] ?? join(tmpdir(), "llmc-bench-localisation");
    const isThroughProgram = process.env[THROUGH_VARIABLE] === "rag_search";
    const countTokens = await tokenCounter();
    const there = existsSync(data) ? readdirSync(data).filter((name) => name.startsWith(PREFIX)) : [];
    const chosen = process.env[SETS_VARIABLE]?.split(",");
    const notes: string[] = KNOWN.filter((name) => !there.includes(name)).map(
      (name) => `SKIPPED ${name}: not in the data folder`,
    );
    const tables: Table[] = [];
    const figures: Record<string, Figures> = {};
    for (const name of there.filter((one) => chosen?.includes(one) ?? true)) {
      const set = readLocalisationSet(join(data, name));
      if (set === undefined) {
        notes.push(`SKIPPED ${name}: no queries.jsonl`);
        continue;
      }
      const own = join(cache, name);
      set.unpack(own);
      const reports = quick ? set.reports.slice(0, 6) : set.reports;
      const open = isThroughProgram
        ? openThroughProgram(own, program)
        : openInProcess(own, availableParallelism());
      const outcomes = await runReports(reports, open, isThroughProgram ? new Map() : otherWeights());
      const bm25 = await runReports(reports, openBm25(own), new Map());
      const together = await timeTogether(own, reports, availableParallelism());
      const times = outcomes.map(({ answer }) => answer.ms);
      const tokens = average(outcomes.map(({ answer }) => countTokens(answer.text)));
      tables.push(...tablesOf(name, outcomes, bm25));
      notes.push(
        `${name}: ${Math.round(average(outcomes.map(({ chunks }) => chunks)))} chunks a project; an answer p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms with 50 snippets, ${Math.round(tokens)} tokens with the defaults${isThroughProgram ? ", through rag_search of the real program" : ""}`,
        `all projects in one workspace, ${together.chunks} chunks, reports of at most 2,000 characters: p50 ${percentile(together.ms, 0.5).toFixed(0)} ms, p95 ${percentile(together.ms, 0.95).toFixed(0)} ms; processor time p50 ${percentile(together.cpu, 0.5).toFixed(0)} ms, p95 ${percentile(together.cpu, 0.95).toFixed(0)} ms`,
      );
      figures[name] = {
        ...figuresOf(outcomes),
        tokens: round(tokens, 1),
        p50_ms: round(percentile(times, 0.5), 1),
        p95_ms: round(percentile(times, 0.95), 1),
        together: {
          chunks: together.chunks,
          p50_ms: round(percentile(together.ms, 0.5), 1),
          p95_ms: round(percentile(together.ms, 0.95), 1),
          p50_cpu_ms: round(percentile(together.cpu, 0.5), 1),
          p95_cpu_ms: round(percentile(together.cpu, 0.95), 1),
        },
        bm25: figuresOf(bm25),
        evidence: Object.fromEntries(
          [...(outcomes[0]?.others.keys() ?? [])].map((one) => [one, figuresOf(withWeights(outcomes, one))]),
        ),
      };
    }
    return { tables, notes, figures: { [isThroughProgram ? "rag_search" : "parts"]: figures } };
  },
};
