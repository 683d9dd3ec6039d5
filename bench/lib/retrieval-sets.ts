import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly language: string;
  readonly category: string;
  /** Paths of the documents that answer it. */
  readonly gold: ReadonlySet<string>;
}

export interface Document {
  readonly path: string;
  readonly text: string;
}

/** Questions over one body of documents: a repository, or a whole set of passages. */
export interface Corpus {
  readonly name: string;
  readonly language: string;
  readonly documents: () => readonly Document[];
  readonly questions: readonly Question[];
}

export interface QuestionSet {
  readonly name: string;
  /** The figure others publish for this set. */
  readonly metric: "ndcg" | "mrr";
  /** Documents are passages; their number is their path, and they are of one kind. */
  readonly isPassages: boolean;
  readonly corpora: readonly Corpus[];
}

type Row = Readonly<Record<string, string | number>>;

const parseLines = (text: string): readonly Row[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);

const readRows = (path: string): readonly Row[] =>
  parseLines(
    path.endsWith(".gz") ? gunzipSync(readFileSync(path)).toString("utf8") : readFileSync(path, "utf8"),
  );

const goldOf = (folder: string): ReadonlyMap<string, ReadonlySet<string>> => {
  const gold = new Map<string, Set<string>>();
  for (const row of readRows(join(folder, "qrels.jsonl"))) {
    if (Number(row["score"]) <= 0) continue;
    const question = String(row["query-id"]);
    gold.set(question, (gold.get(question) ?? new Set()).add(String(row["corpus-id"])));
  }
  return gold;
};

/** One body per repository; document ids are `repository:path`. */
const readCodeSet = (folder: string, name: string): QuestionSet => {
  const gold = goldOf(folder);
  const byRepository = Map.groupBy(readRows(join(folder, "queries.jsonl")), (row) => String(row["repo"]));
  const corpora = [...byRepository].map(([repository, rows]): Corpus => {
    const withoutRepository = (id: string): string => id.slice(repository.length + 1);
    return {
      name: repository,
      language: String(rows[0]?.["language"] ?? ""),
      documents: () =>
        readRows(join(folder, "corpus", `${repository}.jsonl.gz`)).map((row) => ({
          path: withoutRepository(String(row["_id"])),
          text: String(row["text"]),
        })),
      questions: rows.map((row) => ({
        id: String(row["_id"]),
        text: String(row["text"]),
        language: String(row["language"]),
        category: String(row["category"] ?? ""),
        gold: new Set([...(gold.get(String(row["_id"])) ?? [])].map(withoutRepository)),
      })),
    };
  });
  return { name, metric: "ndcg", isPassages: false, corpora };
};

/** One body of passages; those of code become files of their language, others plain text. */
const readPassageSet = (folder: string, name: string, metric: "ndcg" | "mrr", end: string): QuestionSet => {
  const gold = goldOf(folder);
  const questions = readRows(join(folder, "queries.jsonl"))
    // Some sets carry the questions that others tune on, too.
    .filter((row) => row["split"] === undefined || row["split"] === "test")
    .map((row) => ({
      id: String(row["_id"]),
      text: String(row["text"]),
      language: end,
      category: "passage",
      gold: new Set([...(gold.get(String(row["_id"])) ?? [])].map((id) => `${id}.${end}`)),
    }))
    .filter((question) => question.gold.size > 0);
  const documents = (): readonly Document[] =>
    readRows(join(folder, "corpus.jsonl.gz")).map((row) => ({
      path: `${row["_id"]}.${end}`,
      text: [row["title"], row["text"]].filter((part) => part !== undefined && part !== "").join("\n"),
    }));
  return { name, metric, isPassages: true, corpora: [{ name, language: end, documents, questions }] };
};

export interface FoundSets {
  readonly sets: readonly QuestionSet[];
  /** Names of those that are not in the folder. */
  readonly absent: readonly string[];
}

const KNOWN: readonly { readonly name: string; read(folder: string): QuestionSet }[] = [
  { name: "code-search-dev", read: (folder) => readCodeSet(folder, "code-search-dev") },
  { name: "code-search-held-out", read: (folder) => readCodeSet(folder, "code-search-held-out") },
  { name: "cosqa", read: (folder) => readPassageSet(folder, "cosqa", "mrr", "py") },
  { name: "scifact", read: (folder) => readPassageSet(folder, "scifact", "ndcg", "txt") },
];

export const findSets = (folder: string): FoundSets => {
  const isThere = (name: string): boolean => existsSync(join(folder, name, "queries.jsonl"));
  return {
    sets: KNOWN.filter(({ name }) => isThere(name)).map(({ name, read }) => read(join(folder, name))),
    absent: KNOWN.filter(({ name }) => !isThere(name)).map(({ name }) => name),
  };
};
