import { openBase, openEmbedder } from "./lib/knowledge-base.ts";
import { runLatency } from "./lib/knowledge-latency.ts";
import { runMixed } from "./lib/knowledge-mixed.ts";
import { bm25Quality, hybridQuality, type Quality } from "./lib/knowledge-quality.ts";
import { runUnanswerable } from "./lib/knowledge-refusals.ts";
import { type QuestionSet, readSet, some, trecQuestions } from "./lib/knowledge-sets.ts";
import {
  type Benchmark,
  type Figures,
  type Report,
  type Table,
  verdictAbove,
  verdictBelow,
} from "./lib/report.ts";

/** Set: quality is not measured again. */
const IS_LATENCY_ONLY = process.env["LLMC_BENCH_LATENCY_ONLY"] !== undefined;

const MIN_SCIFACT = 0.7;
const MIN_FOREIGN_REFUSED = 0.9;
const MAX_ANSWERABLE_REFUSED = 0.1;

interface Part {
  readonly tables: readonly Table[];
  readonly figures: Figures;
  readonly verdicts: readonly string[];
}

const runQuality = async (set: QuestionSet, others: readonly string[]): Promise<Part> => {
  const base = await openBase(set.documents, await openEmbedder());
  const hybrid = await hybridQuality(base, set.questions);
  const { usual, tuned } = await bm25Quality(base, set.questions);
  const unanswerable = await runUnanswerable(set, base, others);
  await base.close();
  const { answerable, other_sets: foreign } = unanswerable.shipped;
  const row = (name: string, { ndcg, mrr, recall }: Quality) => [name, ndcg, mrr, recall];
  return {
    tables: [
      {
        head: [set.name, "nDCG@10", "MRR", "recall@10"],
        rows: [
          row("hybrid", hybrid),
          row("BM25, k1 = 1.2, b = 0.75", usual),
          row(`BM25, k1 = ${tuned.k1}, b = ${tuned.b}: the best here`, tuned),
        ],
      },
      unanswerable.table,
    ],
    figures: {
      hybrid: { ...hybrid },
      bm25: { ...usual },
      bm25_tuned: { ...tuned },
      refused: unanswerable.figures,
    },
    verdicts: [
      verdictAbove(`${set.name}, nDCG@10, the tuned BM25`, hybrid.ndcg, tuned.ndcg),
      ...(set.name === "scifact" ? [verdictAbove("scifact, nDCG@10", hybrid.ndcg, MIN_SCIFACT)] : []),
      verdictAbove(`${set.name}, refused of other sets`, foreign, MIN_FOREIGN_REFUSED),
      verdictBelow(`${set.name}, refused of answerable ones`, answerable, MAX_ANSWERABLE_REFUSED, ""),
    ],
  };
};

const flat = (figures: Figures, prefix = ""): readonly (readonly [string, string | number])[] =>
  Object.entries(figures).flatMap(([name, value]) =>
    typeof value === "object" && value !== null
      ? flat(value, `${prefix}${name}.`)
      : [[`${prefix}${name}`, typeof value === "number" ? value : String(value)] as const],
  );

export const knowledge: Benchmark = {
  name: "knowledge",
  summary: "knowledge bases: quality beside BM25, questions without an answer, latency and memory",
  needs: "question sets, in ../shared/data or the folder LLMC_BENCH_DATA names",
  run: async (settings): Promise<Report> => {
    const sets = [readSet("scifact", "prose", ".txt"), readSet("cosqa", "code", ".py")].filter(
      (set) => set !== undefined,
    );
    const tables: Table[] = [];
    const figures: Record<string, Figures> = {};
    const verdicts: string[] = [];
    const trec = some(trecQuestions(), 300);
    for (const set of IS_LATENCY_ONLY ? [] : sets) {
      const foreign = sets.filter((other) => other !== set).flatMap(({ questions }) => some(questions, 300));
      const part = await runQuality(set, [...trec, ...foreign.map(({ query }) => query)]);
      tables.push(...part.tables);
      figures[set.name] = part.figures;
      verdicts.push(...part.verdicts);
    }
    if (!IS_LATENCY_ONLY) {
      const mixed = await runMixed(sets);
      tables.push(mixed.table);
      figures["mixed"] = mixed.figures;
    }
    const [prose] = sets;
    const sizes = process.env["LLMC_BENCH_CHUNKS"]?.split(",").map(Number) ?? [
      settings.quick ? 10_000 : 100_000,
    ];
    for (const chunks of prose === undefined ? [] : sizes.filter((size) => size > 0)) {
      const latency = await runLatency(prose as QuestionSet, chunks, settings);
      tables.push({ head: [`${chunks} chunks`, "value"], rows: flat(latency.figures) });
      figures[`latency_${chunks}`] = latency.figures;
      verdicts.push(...latency.verdicts);
    }
    return {
      tables,
      notes: [
        ...verdicts,
        "the shipped confidence was fitted on questions of these sets, so its refusals flatter; the line below them is of a model that was fitted on the other half",
        "the confidence at which an answer begins is 0.5; cosines of code and prose have models of their own",
        "the tuned BM25 has the constants that are best on the very questions it is judged by",
        "engine: in one process, 100 requests/s, ten at a time, every question another one; single: one after the other; server: the same through the pipe of a fresh server over stdio",
        ...(process.env["LLMC_BENCH_ONNX"] === undefined
          ? []
          : ["quality: vectors by a local model (onnx); latency: the static tables"]),
        "cache: Zipf (s = 1), 100,000 requests over 10,000 questions",
      ],
      figures,
    };
  },
};
