import { existsSync, readdirSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tokenCounter } from "../src/host/os/token-counter.ts";
import {
  EVIDENCE_WEIGHTS,
  type EvidenceKind,
  type EvidenceLevels,
  type EvidenceWeights,
  weightsOf,
} from "../src/retrieve/report/evidence.ts";
import {
  type AnswerTime,
  type Located,
  type OpenReport,
  openBm25,
  openInProcess,
  openThroughProgram,
  type TimesTogether,
  timeTogether,
} from "./lib/localisation-runs.ts";
import { type BugReport, isFoundAt, readLocalisationSet } from "./lib/localisation-set.ts";
import {
  type Benchmark,
  type Figures,
  type Report,
  type Table,
  verdictAbove,
  verdictBelow,
} from "./lib/report.ts";
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

/** Both levels of the weights, halved and doubled: how much they matter, and what other projects would choose. */
const LEVELS: readonly EvidenceLevels[] = [0.5, 1, 2].flatMap((sure) =>
  [0.125, 0.25, 0.5, 1].map((hint) => ({ sure, hint })),
);
const levelName = ({ sure, hint }: EvidenceLevels): string => `sure ${sure}, hint ${hint}`;

const otherWeights = (): ReadonlyMap<string, EvidenceWeights> =>
  new Map([
    ...KINDS.map((kind) => [`${LEFT_OUT}${kind}`, { ...EVIDENCE_WEIGHTS, [kind]: 0 }] as const),
    ["the text alone", weightsOf({ sure: 0, hint: 0 })] as const,
    ...LEVELS.map((levels) => [levelName(levels), weightsOf(levels)] as const),
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

/** The levels that are best for all other projects, tried on this one. */
const chosenByOthers = (outcomes: readonly Outcome[], project: string): string => {
  const rest = outcomes.filter(({ report }) => report.project !== project);
  const names = LEVELS.map(levelName);
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
      head: ["project", ...HEAD, ...DEPTHS.map((depth) => `BM25 @${depth}`), "MRR"],
      rows: [...projects].map(([project, own]) => [
        ...row(project, own),
        ...row(
          "",
          bm25.filter(({ report }) => report.project === project),
        ).slice(2),
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

/** The sets to run: all that are there, or those that were named, all of which must exist. */
export const chosenSets = (named: string | undefined, there: readonly string[]): readonly string[] => {
  const wanted = named?.split(",").map((name) => name.trim());
  const unknown = wanted?.filter((name) => !there.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`${SETS_VARIABLE} names ${unknown.join(", ")}; there is ${there.join(", ") || "no set"}`);
  return wanted ?? there;
};

const figuresOf = (answered: Answered): Figures => ({
  ...Object.fromEntries(DEPTHS.map((depth) => [`acc_${depth}`, round(accuracy(answered, depth), 4)])),
  mrr: round(mrr(answered), 4),
});

const projectFigures = (outcomes: readonly Outcome[], bm25: readonly Outcome[]): Figures =>
  Object.fromEntries(
    [...Map.groupBy(outcomes, ({ report }) => report.project)].map(([project, own]) => {
      const plain = bm25.filter(({ report }) => report.project === project);
      return [project, { reports: own.length, ...figuresOf(own), bm25: figuresOf(plain) }];
    }),
  );

/** p50 and p95 of the wall time and of the processor time. */
const timeFigures = (times: readonly AnswerTime[]): Figures => {
  const of = (values: readonly number[], share: number): number => round(percentile(values, share), 1);
  const [ms, cpuMs] = [times.map((one) => one.ms), times.map((one) => one.cpuMs)];
  return {
    p50_ms: of(ms, 0.5),
    p95_ms: of(ms, 0.95),
    p50_cpu_ms: of(cpuMs, 0.5),
    p95_cpu_ms: of(cpuMs, 0.95),
  };
};

const togetherFigures = ({ chunks, usual, hostile }: TimesTogether): Figures => ({
  chunks,
  ...timeFigures(usual),
  hostile_ms: Object.fromEntries([...hostile].map(([kind, { ms }]) => [kind, Math.round(ms)])),
  hostile_cpu_ms: Object.fromEntries([...hostile].map(([kind, { cpuMs }]) => [kind, Math.round(cpuMs)])),
});

const togetherNotes = ({ chunks, usual, hostile }: TimesTogether): readonly string[] => {
  const { p50_ms, p95_ms, p50_cpu_ms, p95_cpu_ms } = timeFigures(usual);
  const kinds = [...hostile].map(([kind, { ms, cpuMs }]) => `${kind} ${ms.toFixed(0)} (${cpuMs.toFixed(0)})`);
  return [
    `all projects in one workspace, ${chunks} chunks, with documents and a history, reports of at most 2,000 characters: p50 ${p50_ms} ms, p95 ${p95_ms} ms; processor time p50 ${p50_cpu_ms} ms, p95 ${p95_cpu_ms} ms`,
    `hostile reports of 32 KB there, milliseconds (of processor time): ${kinds.join(", ")}`,
  ];
};

/** Of the open set; sets that were made from installed packages have no targets. */
const MIN_ACCURACY = { 1: 0.6, 5: 0.88, 10: 0.92 } as const;
const MAX_P50_MS = 60;
const MAX_P95_MS = 150;
const MAX_HOSTILE_MS = 1000;

const verdictsOf = (
  name: string,
  outcomes: Answered,
  { usual, hostile }: TimesTogether,
): readonly string[] => {
  const times = usual.map(({ ms }) => ms);
  const slowest = Math.max(...[...hostile.values()].map(({ ms }) => ms));
  return [
    ...(KNOWN.includes(name)
      ? Object.entries(MIN_ACCURACY).map(([depth, target]) =>
          verdictAbove(`Acc@${depth}`, round(accuracy(outcomes, Number(depth)), 3), target),
        )
      : []),
    verdictBelow("a report at p50", round(percentile(times, 0.5), 1), MAX_P50_MS, "ms"),
    verdictBelow("a report at p95", round(percentile(times, 0.95), 1), MAX_P95_MS, "ms"),
    verdictBelow("the slowest hostile report", round(slowest, 0), MAX_HOSTILE_MS, "ms"),
  ];
};

export const localisation: Benchmark = {
  name: "localisation",
  summary:
    "from a bug report to the files that were changed: Acc@k by project, beside BM25, and by kind of evidence",
  needs: `the sets ${PREFIX}*, in ../shared/data or the folder ${DATA_VARIABLE} names, xz and git`,
  run: async ({ quick, program }): Promise<Report> => {
    const data = process.env[DATA_VARIABLE] ?? DEFAULT_DATA;
    const cache = process.env[CACHE_VARIABLE] ?? join(tmpdir(), "llmc-bench-localisation");
    const isThroughProgram = process.env[THROUGH_VARIABLE] === "rag_search";
    const countTokens = await tokenCounter();
    const there = existsSync(data) ? readdirSync(data).filter((name) => name.startsWith(PREFIX)) : [];
    const wanted = chosenSets(process.env[SETS_VARIABLE], there);
    const notes: string[] = KNOWN.filter((name) => !there.includes(name)).map(
      (name) => `SKIPPED ${name}: not in the data folder`,
    );
    const tables: Table[] = [];
    const figures: Record<string, Figures> = {};
    for (const name of wanted) {
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
      const planTokens = average(outcomes.map(({ answer }) => countTokens(answer.plan)));
      tables.push(...tablesOf(name, outcomes, bm25));
      notes.push(
        `${name}: ${Math.round(average(outcomes.map(({ chunks }) => chunks)))} chunks a project; an answer p50 ${percentile(times, 0.5).toFixed(0)} ms, p95 ${percentile(times, 0.95).toFixed(0)} ms with 50 snippets, ${Math.round(tokens)} tokens with the defaults, a plan ${Math.round(planTokens)} tokens${isThroughProgram ? ", through rag_search of the real program" : ""}`,
        ...togetherNotes(together),
        ...verdictsOf(name, outcomes, together),
      );
      figures[name] = {
        ...figuresOf(outcomes),
        tokens: round(tokens, 1),
        plan_tokens: round(planTokens, 1),
        p50_ms: round(percentile(times, 0.5), 1),
        p95_ms: round(percentile(times, 0.95), 1),
        together: togetherFigures(together),
        projects: projectFigures(outcomes, bm25),
        bm25: figuresOf(bm25),
        evidence: Object.fromEntries(
          [...(outcomes[0]?.others.keys() ?? [])].map((one) => [one, figuresOf(withWeights(outcomes, one))]),
        ),
      };
    }
    return { tables, notes, figures: { [isThroughProgram ? "rag_search" : "parts"]: figures } };
  },
};
