import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Figures } from "../../bench/lib/report.ts";
import { numberAt, type QuotedRow, quotedRows, readResult, savedCommits } from "./saved-figures.ts";
import { totalsOf } from "./workflow-totals.ts";

type Figure = string | readonly string[];

interface Quote {
  readonly row: RegExp;
  readonly benchmark: string;
  /** What the row has to say, each in the column that the README gives it; of a list, any one. */
  quote(
    figures: Figures,
    row: QuotedRow,
  ): { readonly ours: readonly Figure[]; readonly against?: readonly Figure[] };
}

const count = (value: number): string => value.toLocaleString("en-US");
const hundreds = (value: number): string => count(Math.round(value / 100) * 100);
const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`;
const times = (ratio: number): string => `${ratio.toFixed(2)} ×`;

/** Saved with four digits and quoted with three, both rounded from the same number. */
const retrievalOf = (figures: Figures, set: string, system: string, measure: string): readonly string[] => {
  const saved = numberAt(figures, "parts", set, system, measure);
  return [saved - 0.000_049, saved + 0.000_049].map((value) => value.toFixed(3));
};

const spread = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;

const peer = (figures: Figures, task: string, pair: string): string =>
  times(numberAt(figures, "free", task, "targets", pair, "paired_ratio"));

const NUMERALS =
  "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(
    " ",
  );

const QUOTES: readonly Quote[] = [
  {
    row: /scripted tasks/,
    benchmark: "workflows",
    quote: (f) => {
      const { ours, commander } = totalsOf(f);
      const withAllNames = percent(numberAt(f, "below_commander_all_names"));
      return {
        ours: [hundreds(ours)],
        against: [hundreds(commander), percent(1 - ours / commander), withAllNames],
      };
    },
  },
  {
    row: /commands through `te`/,
    benchmark: "envelope",
    quote: (f, { what }) => {
      expect(what).toContain(`${numberAt(f, "commands")} commands`);
      expect(what).toContain(`the ${numberAt(f, "long")} with`);
      expect(numberAt(f, "differing")).toBe(0);
      return { ours: [percent(numberAt(f, "saved"))] };
    },
  },
  {
    row: /questions about a repository/,
    benchmark: "questions",
    quote: (f) => ({ ours: [percent(numberAt(f, "share")), `in ${numberAt(f, "right")}`] }),
  },
  {
    row: /^finding the right file, NDCG@10/,
    benchmark: "retrieval",
    quote: (f) => ({
      ours: [retrievalOf(f, "code-search-dev", "hybrid", "ndcg_10")],
      against: [
        retrievalOf(f, "code-search-dev", "BM25 only", "ndcg_10").map((value) => `BM25 alone ${value}`),
        retrievalOf(f, "code-search-dev", "vectors only", "ndcg_10").map((value) => `vectors alone ${value}`),
      ],
    }),
  },
  {
    row: /^CoSQA MRR \/ SciFact/,
    benchmark: "retrieval",
    quote: (f) => {
      const pair = (system: string) =>
        retrievalOf(f, "cosqa", system, "mrr").flatMap((mrr) =>
          retrievalOf(f, "scifact", system, "ndcg_10").map((ndcg) => `${mrr} / ${ndcg}`),
        );
      return { ours: [pair("hybrid")], against: [pair("BM25 only")] };
    },
  },
  {
    row: /^knowledge bases, nDCG@10/,
    benchmark: "knowledge",
    quote: (f) => {
      const pair = (way: string): string =>
        ["scifact", "cosqa"].map((set) => numberAt(f, set, way, "ndcg").toFixed(4)).join(" / ");
      return { ours: [pair("hybrid")], against: [pair("bm25_tuned")] };
    },
  },
  {
    row: /^knowledge bases, answered "not in/,
    benchmark: "knowledge",
    quote: (f) => {
      const pair = (kind: string): string =>
        ["scifact", "cosqa"].map((set) => percent(numberAt(f, set, "refused", "shipped", kind))).join(" / ");
      return { ours: [["other_sets", "removed", "answerable"].map(pair).join("; ")] };
    },
  },
  {
    row: /^where a symbol is used, precision \/ recall/,
    benchmark: "graph",
    quote: (f, { what }) => {
      const projects = Object.keys(f);
      expect(what).toContain(`${NUMERALS[projects.length]} projects`);
      const all = (measure: string) => spread(projects.map((name) => numberAt(f, name, measure)));
      return { ours: [`${all("usesPrecision")} / ${all("usesRecall")}`] };
    },
  },
  {
    row: /^a million lines: peak memory/,
    benchmark: "index",
    quote: (f) => ({
      ours: [`${numberAt(f, "million_peak_mb")} MB`, `${Math.round(numberAt(f, "million_query_p95_ms"))} ms`],
    }),
  },
  {
    row: /^indexing, a megabyte/,
    benchmark: "index",
    quote: (f) => ({
      ours: [
        `${(numberAt(f, "million_ms_per_mb") / 1000).toFixed(2)} s (packages)`,
        // Saved by later runs only.
        ...(f["together_ms_per_mb"] === undefined
          ? []
          : [`${(numberAt(f, "together_ms_per_mb") / 1000).toFixed(2)} s (31 repositories)`]),
      ],
    }),
  },
  {
    row: /^start to the first tool list/,
    benchmark: "start",
    quote: (f) => ({ ours: [times(numberAt(f, "lanes", "llmc", "paired_ratio"))] }),
  },
  {
    row: /^a call that does nothing/,
    benchmark: "noop",
    quote: (f) => ({ ours: [times(numberAt(f, "free", "llmc custom noop", "paired_ratio"))] }),
  },
  {
    row: /^read 200 lines, list a directory, stat/,
    benchmark: "peers",
    quote: (f) => ({
      ours: [
        [
          peer(f, "read 200 lines", "llmc read_file to official"),
          peer(f, "list the root", "llmc list_dir to official"),
          peer(f, "stat", "llmc stat to official"),
        ].join(", "),
      ],
    }),
  },
  ...(
    [
      [/^find a file by name/, "find a file by name"],
      [/^content search/, "content search, 0 lines of context"],
    ] as const
  ).map(
    ([row, task]): Quote => ({
      row,
      benchmark: "peers",
      quote: (f) => ({
        ours: [`${peer(f, task, "llmc to plain rg")} / ${peer(f, task, "llmc to Desktop Commander")}`],
      }),
    }),
  ),
  {
    row: /^a short command in bubblewrap/,
    benchmark: "commands",
    quote: (f) => {
      const more = numberAt(f, "lanes", "bubblewrap", "p50_ms") - numberAt(f, "lanes", "spawn", "p50_ms");
      return { ours: [`${Math.round(more)} ms more`] };
    },
  },
  {
    row: /^HTTP: p95/,
    benchmark: "http",
    quote: (f) => ({
      ours: [
        `${numberAt(f, "latency", "health", "p95_ms").toFixed(1)} ms / ${numberAt(f, "latency", "read_file", "p95_ms").toFixed(1)} ms`,
        percent(numberAt(f, "throughput", "ratio"), 0),
      ],
    }),
  },
];

const quoteOf = (row: QuotedRow): Quote | undefined =>
  QUOTES.find(({ row: pattern }) => pattern.test(row.what));

/** Not inside a longer number. */
const hasText = (cell: string, text: string): boolean => {
  const at = cell.indexOf(text);
  return at >= 0 && !/[\d.,]/.test(cell[at - 1] ?? " ") && !/^[.,]?\d/.test(cell.slice(at + text.length));
};

const missingIn = (cell: string, figures: readonly Figure[]): readonly Figure[] =>
  figures.filter((figure) => ![figure].flat().some((text) => hasText(cell, text)));

describe("the README quotes saved results", () => {
  const rows = quotedRows();

  test("every row names a result file that is there, and this test knows what it should say", () => {
    expect(rows.length).toBeGreaterThanOrEqual(QUOTES.length);
    for (const row of rows) {
      expect(savedCommits(), row.what).toContain(row.commit);
      expect(quoteOf(row)?.benchmark, `no entry of QUOTES for "${row.what}"`).toBeDefined();
    }
  });

  test.each(QUOTES.map((quote) => [String(quote.row), quote] as const))("%s", (_name, quote) => {
    const found = rows.filter((row) => quote.row.test(row.what));
    expect(found).toHaveLength(1);
    const [row] = found;
    if (row === undefined) return;
    const saved = readResult(row.commit)[quote.benchmark];
    expect(saved, `${quote.benchmark} in ${row.commit}.json`).toBeDefined();
    if (saved === undefined) return;
    expect(saved.run["uncommitted"]).toBe(false);
    const { ours, against = [] } = quote.quote(saved.figures, row);
    expect(missingIn(row.ours, ours), row.ours).toEqual([]);
    expect(missingIn(row.against, against), row.against).toEqual([]);
  });
});

test("the guide to knowledge bases quotes what the README does, and the same at more confidence", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/knowledge-bases.md"), "utf8");
  const commit = /bench\/results\/([0-9a-f]+)\.json/.exec(guide)?.[1] ?? "";
  const figures = readResult(commit)["knowledge"]?.figures ?? {};
  for (const kind of ["other_sets", "removed", "answerable"]) {
    const shares = ["scifact", "cosqa"].flatMap((set) =>
      ["shipped", "held_out"].map((fit) => percent(numberAt(figures, set, "refused", fit, kind))),
    );
    expect(guide).toContain(`| ${shares.join(" | ")} |`);
  }
  for (const set of ["scifact", "cosqa"])
    for (const kind of ["removed", "answerable"])
      expect(guide).toContain(percent(numberAt(figures, set, "refused", "curve", "0.7", kind)));
});

test("the README's before and after is the mean of the questions that its row quotes", () => {
  const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
  const row = quotedRows().find(({ what }) => /questions about a repository/.test(what));
  const figures = readResult(row?.commit ?? "")["questions"]?.figures ?? {};
  const mean = (total: number, digits: number): string => count(Math.round(total / 20 / digits) * digits);
  expect(readme).toContain(
    `then read the files that it names | ${mean(numberAt(figures, "grep_and_read"), 100)} |`,
  );
  expect(readme).toContain(`\`rag_search\` | ${mean(numberAt(figures, "tokens"), 10)} |`);
});
