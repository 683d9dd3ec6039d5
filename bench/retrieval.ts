import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { tokenCounter } from "../src/host/os/token-counter.ts";
import { createOnnxModel } from "../src/retrieve/embed/onnx-model.ts";
import { MODEL_RANK_WEIGHTS } from "../src/retrieve/rank/rank-weights.ts";
import type { Benchmark, Figures, Report, Table } from "./lib/report.ts";
import { average, averageBy, ndcgAt, recallAt, reciprocalRank } from "./lib/retrieval-metrics.ts";
import { findSets, type Question, type QuestionSet } from "./lib/retrieval-sets.ts";
import { type Hit, HYBRID_SYSTEM, type OpenCorpus, openLibrary } from "./lib/retrieval-systems.ts";
import { openThroughTool } from "./lib/retrieval-tool.ts";
import { round } from "./lib/stats.ts";

interface Outcome {
  readonly system: string;
  readonly corpus: string;
  readonly language: string;
  readonly category: string;
  readonly ndcg: number;
  readonly mrr: number;
  readonly recall: number;
  readonly tokens: number;
  readonly ms: number;
}

const DATA_VARIABLE = "LLMC_BENCH_DATA";

/** Set to `rag_search`: the tool of the real program, over real files, in the place of the parts put together here. */
const THROUGH_VARIABLE = "LLMC_BENCH_THROUGH";

/** Names of sets, with commas between: only these. */
const SETS_VARIABLE = "LLMC_BENCH_SETS";

/** Names of corpora, such as repositories of a set, with commas between: only these. */
const CORPORA_VARIABLE = "LLMC_BENCH_CORPORA";

/** A folder as for `mcp.rag.embedder_model`: the model there makes the vectors, in the place of the static embedding. */
const ONNX_VARIABLE = "LLMC_BENCH_ONNX";

/** Where the sets lie unless the variable says otherwise: beside the repository. */
const DEFAULT_DATA = fileURLToPath(new URL("../../shared/data", import.meta.url));

/** Chunks asked for, so that ten files are among them also where a system puts many chunks of one file first. */
const ASKED_CHUNKS = 400;

/** What an answer holds by default. */
const ANSWER_CHUNKS = 3;

const CORES = availableParallelism();

const toSettings = (folder: string): readonly string[] => [
  "--set",
  "mcp.rag.embedder=onnx",
  "--set",
  `mcp.rag.embedder_model=${folder}`,
];

const filesOf = (hits: readonly { readonly path: string }[]): readonly string[] => [
  ...new Set(hits.map(({ path }) => path)),
];

const firstTexts = (hits: readonly Hit[]): string =>
  hits
    .slice(0, ANSWER_CHUNKS)
    .map(({ text }) => text)
    .join("\n");

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0;

/** The set's own way: repositories count the same within a language, and languages the same as each other. */
const meanOf = (outcomes: readonly Outcome[], value: (outcome: Outcome) => number): number =>
  averageBy(outcomes, [({ language }) => language, ({ corpus }) => corpus], value);

const runSet = async (
  set: QuestionSet,
  open: OpenCorpus,
  quick: boolean,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly notes: readonly string[] }> => {
  const countTokens = await tokenCounter();
  const outcomes: Outcome[] = [];
  let chunks = 0;
  let megabytes = 0;
  let indexMs = 0;
  for (const corpus of quick ? set.corpora.slice(0, 3) : set.corpora) {
    const opened = await open(corpus);
    chunks += opened.chunks;
    megabytes += opened.megabytes;
    indexMs += opened.indexMs;
    const measure = async (question: Question): Promise<void> => {
      for (const system of opened.systems) {
        const started = performance.now();
        const hits = await system.ask(question.text, ASKED_CHUNKS);
        const ms = performance.now() - started;
        const files = filesOf(hits);
        outcomes.push({
          system: system.name,
          corpus: corpus.name,
          language: question.language,
          category: question.category,
          ndcg: ndcgAt(files, question.gold, 10),
          mrr: reciprocalRank(files, question.gold),
          recall: recallAt(files, question.gold, 10),
          tokens: countTokens((await system.answer?.(question.text)) ?? firstTexts(hits)),
          ms,
        });
      }
    };
    for (const question of quick ? corpus.questions.slice(0, 50) : corpus.questions) await measure(question);
    await opened.close();
  }
  const times = outcomes.filter(({ system }) => system === HYBRID_SYSTEM).map(({ ms }) => ms);
  return {
    outcomes,
    notes: [
      `${set.name}: ${times.length} questions, ${chunks} chunks of ${megabytes.toFixed(1)} MB, ${Math.round(indexMs / megabytes)} ms per MB in one thread; a question p50 ${percentile(times, 0.5).toFixed(2)} ms, p95 ${percentile(times, 0.95).toFixed(2)} ms`,
    ],
  };
};

const row = (label: string, outcomes: readonly Outcome[]): readonly (string | number)[] => [
  label,
  meanOf(outcomes, ({ ndcg }) => ndcg).toFixed(3),
  meanOf(outcomes, ({ mrr }) => mrr).toFixed(3),
  meanOf(outcomes, ({ recall }) => recall).toFixed(3),
  Math.round(average(outcomes.map(({ tokens }) => tokens))),
];

const HEAD = ["NDCG@10", "MRR", "recall@10", "tokens"];

const tablesOf = (set: QuestionSet, outcomes: readonly Outcome[]): readonly Table[] => {
  const systems = Map.groupBy(outcomes, ({ system }) => system);
  const hybrid = systems.get(HYBRID_SYSTEM) ?? outcomes;
  const detail = (head: string, key: (outcome: Outcome) => string): Table => ({
    head: [head, ...HEAD, ...[...systems.keys()].slice(1).map((name) => `NDCG@10 ${name}`)],
    rows: [...Map.groupBy(hybrid, key)].map(([value, group]) => [
      ...row(value, group),
      ...[...systems.values()].slice(1).map((other) =>
        meanOf(
          other.filter((one) => key(one) === value),
          ({ ndcg }) => ndcg,
        ).toFixed(3),
      ),
    ]),
  });
  const all: Table = {
    head: [set.name, ...HEAD],
    rows: [...systems].map(([name, group]) => row(name, group)),
  };
  if (set.isPassages) return [all];
  return [
    all,
    detail("kind of question", ({ category }) => category),
    detail("language", ({ language }) => language),
  ];
};

const figuresOf = (outcomes: readonly Outcome[]): Figures =>
  Object.fromEntries(
    [...Map.groupBy(outcomes, ({ system }) => system)].map(([name, group]) => [
      name,
      {
        ndcg_10: round(
          meanOf(group, ({ ndcg }) => ndcg),
          4,
        ),
        mrr: round(
          meanOf(group, ({ mrr }) => mrr),
          4,
        ),
        recall_10: round(
          meanOf(group, ({ recall }) => recall),
          4,
        ),
        tokens: round(average(group.map(({ tokens }) => tokens)), 1),
        p50_ms: round(
          percentile(
            group.map(({ ms }) => ms),
            0.5,
          ),
          2,
        ),
        p95_ms: round(
          percentile(
            group.map(({ ms }) => ms),
            0.95,
          ),
          2,
        ),
      },
    ]),
  );

export const retrieval: Benchmark = {
  name: "retrieval",
  summary: "quality of search on public question sets, beside BM25 only and vectors only",
  needs: `question sets, in ../shared/data or the folder ${DATA_VARIABLE} names`,
  run: async ({ quick, program }): Promise<Report> => {
    const folder = process.env[DATA_VARIABLE] ?? DEFAULT_DATA;
    const { sets: found, absent } = findSets(folder);
    const isChosen = (variable: string, name: string): boolean =>
      process.env[variable]?.split(",").includes(name) ?? true;
    const sets = found
      .filter(({ name }) => isChosen(SETS_VARIABLE, name))
      .map((set) => ({
        ...set,
        corpora: set.corpora.filter(({ name }) => isChosen(CORPORA_VARIABLE, name)),
      }));
    const isThroughTool = process.env[THROUGH_VARIABLE] === "rag_search";
    const onnx = process.env[ONNX_VARIABLE];
    const model = onnx === undefined ? undefined : createOnnxModel({ workspace: folder, model: onnx }, CORES);
    const open = isThroughTool
      ? openThroughTool(program, onnx === undefined ? [] : toSettings(onnx))
      : await openLibrary(model && { embedder: await model.open(), weights: MODEL_RANK_WEIGHTS });
    const tables: Table[] = [];
    const notes: string[] = [
      isThroughTool
        ? "through rag_search of the real program; tokens: its answer with the defaults"
        : `the parts in one process; tokens: the first ${ANSWER_CHUNKS} chunks, whole. ${THROUGH_VARIABLE}=rag_search asks the real program`,
      ...(onnx === undefined ? [] : ["vectors by a local model (onnx)"]),
      ...absent.map((name) => `SKIPPED ${name}: not in the data folder`),
    ];
    const figures: Record<string, Figures> = {};
    for (const set of sets) {
      const ran = await runSet(set, open, quick);
      tables.push(...tablesOf(set, ran.outcomes));
      notes.push(...ran.notes);
      figures[set.name] = figuresOf(ran.outcomes);
    }
    await model?.close();
    const label = isThroughTool ? "rag_search" : "parts";
    return { tables, notes, figures: { [onnx === undefined ? label : `${label}, onnx`]: figures } };
  },
};
