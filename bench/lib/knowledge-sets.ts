import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { CorpusDocument } from "./knowledge-base.ts";

const DATA =
  process.env["LLMC_BENCH_DATA"] ?? fileURLToPath(new URL("../../../shared/data", import.meta.url));

export interface Asked {
  readonly query: string;
  readonly gold: ReadonlySet<string>;
}

export interface QuestionSet {
  readonly name: string;
  readonly documents: readonly CorpusDocument[];
  readonly questions: readonly Asked[];
}

const rowsOf = (path: string): readonly Readonly<Record<string, unknown>>[] =>
  (path.endsWith(".gz") ? gunzipSync(readFileSync(path)) : readFileSync(path))
    .toString()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** `ending` is that of the files which the documents would be: a rule of the search looks at it. */
export const readSet = (
  name: string,
  kind: CorpusDocument["kind"],
  ending: string,
): QuestionSet | undefined => {
  const folder = join(DATA, name);
  if (!existsSync(join(folder, "queries.jsonl"))) return undefined;
  const idOf = (value: unknown): string => `${name}/${String(value)}${ending}`;
  const gold = new Map<string, Set<string>>();
  for (const row of rowsOf(join(folder, "qrels.jsonl")))
    if (Number(row["score"]) > 0) {
      const id = String(row["query-id"]);
      gold.set(id, (gold.get(id) ?? new Set()).add(idOf(row["corpus-id"])));
    }
  return {
    name,
    documents: rowsOf(join(folder, "corpus.jsonl.gz")).map((row) => ({
      id: idOf(row["_id"]),
      title: String(row["title"] ?? ""),
      text: String(row["text"]),
      kind,
    })),
    questions: rowsOf(join(folder, "queries.jsonl")).flatMap((row) => {
      const found = gold.get(String(row["_id"]));
      return found === undefined ? [] : [{ query: String(row["text"]), gold: found }];
    }),
  };
};

export const trecQuestions = (): readonly string[] => {
  const path = join(DATA, "trec-questions/train_5500.label");
  if (!existsSync(path)) return [];
  return readFileSync(path, "latin1")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.slice(line.indexOf(" ") + 1));
};

/** Every n-th, so that all parts of a set are asked. */
export const some = <T>(values: readonly T[], count: number): readonly T[] =>
  values.filter((_, at) => at % Math.max(1, Math.floor(values.length / count)) === 0).slice(0, count);
