import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

interface TinyQuestion {
  readonly id: string;
  readonly repo: string;
  readonly language: string;
  readonly category: string;
  readonly text: string;
  /** Paths in the repository, and how well each answers; 0 is known not to. */
  readonly gold: Readonly<Record<string, number>>;
}

const CORPORA: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  zoo: {
    "zoo/flamingo.py":
      'def count_flamingos(pond):\n    """How many flamingos stand in the pond."""\n    return len(pond)\n',
    "zoo/walrus.py":
      'def feed_walrus(kilos):\n    """Give fish to the walrus."""\n    return "fed" if kilos > 3 else "hungry"\n',
    "zoo/giraffe.py":
      'def measure_neck(giraffe):\n    """The length of a giraffe\'s neck in metres."""\n    return giraffe.neck\n',
    "zoo/tickets.py":
      'class TicketOffice:\n    """Sells tickets to visitors."""\n    def sell(self, adults, children):\n        return adults * 12 + children * 5\n',
  },
  post: {
    "src/parcel.ts":
      'export function weighParcel(grams: number): string {\n  return grams > 2000 ? "heavy" : "light";\n}\n',
    "src/stamp.ts":
      '/** Price of the stamp for a letter. */\nexport const stampPrice = (country: string): number => (country === "home" ? 85 : 125);\n',
    "src/address.ts":
      '/** Splits an address into street, number and town. */\nexport const parseAddress = (line: string): string[] => line.split(",");\n',
    "src/van.ts":
      "/** The route that a delivery van drives each morning. */\nexport class VanRoute {\n  stops: string[] = [];\n}\n",
  },
};

/** One of `post` has no answer in its repository; one of its answers is marked as wrong. */
const QUESTIONS: readonly TinyQuestion[] = [
  {
    id: "q1",
    repo: "zoo",
    language: "python",
    category: "symbol",
    text: "count_flamingos",
    gold: { "zoo/flamingo.py": 1, "zoo/walrus.py": 0 },
  },
  {
    id: "q2",
    repo: "post",
    language: "typescript",
    category: "symbol",
    text: "weighParcel",
    gold: { "src/parcel.ts": 1 },
  },
  {
    id: "q3",
    repo: "post",
    language: "typescript",
    category: "sentence",
    text: "which route does the delivery van drive",
    gold: { "src/van.ts": 2, "src/stamp.ts": 0 },
  },
  {
    id: "q4",
    repo: "post",
    language: "typescript",
    category: "sentence",
    text: "where are letters sorted by machine",
    gold: { "src/sorting-machine.ts": 1 },
  },
];

const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

/** Eight files, four questions, in the format of the public sets, under the name of the first of them. */
export const writeTinySet = (folder: string): void => {
  const set = join(folder, "code-search-dev");
  mkdirSync(join(set, "corpus"), { recursive: true });
  writeFileSync(
    join(set, "queries.jsonl"),
    lines(
      QUESTIONS.map(({ id, repo, language, category, text }) => ({
        _id: id,
        repo,
        language,
        category,
        text,
      })),
    ),
  );
  writeFileSync(
    join(set, "qrels.jsonl"),
    lines(
      QUESTIONS.flatMap(({ id, repo, gold }) =>
        Object.entries(gold).map(([path, score]) => ({
          "query-id": id,
          "corpus-id": `${repo}:${path}`,
          score,
        })),
      ),
    ),
  );
  for (const [repo, files] of Object.entries(CORPORA)) {
    const rows = Object.entries(files).map(([path, text]) => ({ _id: `${repo}:${path}`, text }));
    writeFileSync(join(set, "corpus", `${repo}.jsonl.gz`), gzipSync(lines(rows)));
  }
};
