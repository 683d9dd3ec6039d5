import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pg_textsearch } from "@electric-sql/pglite-pg_textsearch";
import { vector } from "@electric-sql/pglite-pgvector";
import { createPassageEmbedder } from "../src/knowledge/search/passage-embedder.ts";
import { loadNearestRows } from "../src/retrieve/embed/nearest-rows.ts";
import { lengthIn, searchRows } from "../src/retrieve/embed/search-rows.ts";
import type { Benchmark } from "./lib/report.ts";
import { round } from "./lib/stats.ts";

const ROOT = join(import.meta.dirname, "..");
const PASSAGE_CHARS = 1000;
/** As many as a question takes from the nearest vectors and from BM25 (`src/knowledge/search/passage-index.ts`). */
const CANDIDATES = 200;

/** Texts of this repository. */
const passagesOf = (limit: number): readonly string[] => {
  const files = execFileSync("git", ["-C", ROOT, "ls-files", "*.ts", "*.md"], { encoding: "utf8" });
  return files
    .trim()
    .split("\n")
    .flatMap((file) => readFileSync(join(ROOT, file), "utf8").match(/[\s\S]{1,1000}/g) ?? [])
    .filter((text) => text.length > PASSAGE_CHARS / 2)
    .slice(0, limit);
};

const literal = (values: Int8Array): string => `[${values.join(",")}]`;

const timed = async <T>(work: () => T | Promise<T>): Promise<{ readonly value: T; readonly ms: number }> => {
  const begun = performance.now();
  const value = await work();
  return { value, ms: performance.now() - begun };
};

type Search = (at: number) => readonly number[] | Promise<readonly number[]>;

/** Milliseconds of a question, and the share of the exact candidates that it found. */
const measure = async (count: number, search: Search, exact?: readonly (readonly number[])[]) => {
  const found: (readonly number[])[] = [];
  const { ms } = await timed(async () => {
    for (let at = 0; at < count; at++) found.push(await search(at));
  });
  const shares = found.map((ids, at) => {
    const wanted = new Set(exact?.[at] ?? ids);
    return ids.filter((id) => wanted.has(id)).length / wanted.size;
  });
  return { found, ms: ms / count, share: shares.reduce((sum, one) => sum + one, 0) / count };
};

const openDatabase = async (texts: readonly string[], vectors: readonly Int8Array[]): Promise<PGlite> => {
  const db = await PGlite.create({ extensions: { vector, pg_textsearch } });
  await db.exec(`CREATE EXTENSION vector; CREATE EXTENSION pg_textsearch;
    CREATE TABLE passages (id BIGINT PRIMARY KEY, embedding halfvec(256));
    CREATE TABLE texts (id BIGINT PRIMARY KEY, text TEXT);`);
  await db.transaction(async (write) => {
    for (const [at, text] of texts.entries()) {
      await write.query("INSERT INTO passages VALUES ($1, $2)", [
        at,
        literal(vectors[at] ?? new Int8Array()),
      ]);
      await write.query("INSERT INTO texts VALUES ($1, $2)", [at, text]);
    }
  });
  return db;
};

/** Whether searching in the database would serve servers that have no memory for an index (decision 038). */
export const databaseSearch: Benchmark = {
  name: "database-search",
  summary: "candidates from pgvector and pg_textsearch (PGlite), against the index in memory",
  run: async ({ quick }) => {
    const texts = passagesOf(quick ? 500 : 5000);
    const embedder = createPassageEmbedder();
    const vectors = texts.map((text) => embedder.tables.embedPassage("prose", text));
    const questions = texts
      .filter((_, at) => at % Math.ceil(texts.length / 50) === 0)
      .map((text) => text.slice(200, 280));
    const asked = questions.map((text) => embedder.tables.embedQuery(text).prose);
    const rows = new Int8Array(texts.length * embedder.dimensions);
    for (const [at, one] of vectors.entries()) rows.set(one, at * embedder.dimensions);
    const { dimensions } = embedder;
    const lengthOf = (row: number): number => lengthIn(rows, row, dimensions);
    const inMemory = { rows, size: texts.length, dimensions, idOf: (row: number) => row, lengthOf };
    const native = loadNearestRows();
    const memory = await measure(questions.length, (at) =>
      searchRows(inMemory, native, asked[at] ?? new Int8Array(), CANDIDATES).map(({ id }) => id),
    );
    const db = await openDatabase(texts, vectors);
    const nearest: Search = async (at) => {
      const { rows: found } = await db.query<{ id: number }>(
        `SELECT id FROM passages ORDER BY embedding <=> $1 LIMIT ${CANDIDATES}`,
        [literal(asked[at] ?? new Int8Array())],
      );
      return found.map(({ id }) => Number(id));
    };
    const bytesOf = async (relation: string): Promise<number> => {
      const { rows: found } = await db.query<{ bytes: number }>(
        "SELECT pg_total_relation_size($1::regclass) AS bytes",
        [relation],
      );
      return Math.round(Number(found[0]?.bytes ?? 0) / texts.length);
    };
    const exact = await measure(questions.length, nearest, memory.found);
    const plainBytes = await bytesOf("passages");
    const graph = await timed(() =>
      db.exec("CREATE INDEX graph ON passages USING hnsw (embedding halfvec_cosine_ops)"),
    );
    // For so few passages the planner would rather read all of them.
    await db.exec(`SET hnsw.ef_search = ${CANDIDATES}; SET enable_seqscan = off`);
    const approximate = await measure(questions.length, nearest, memory.found);
    const graphBytes = await bytesOf("graph");
    const lists = await timed(() =>
      db.exec("CREATE INDEX lists ON texts USING bm25 (text) WITH (text_config = 'english')"),
    );
    const bm25 = await measure(questions.length, async (at) => {
      const { rows: found } = await db.query<{ id: number }>(
        `SELECT id FROM texts ORDER BY text <@> to_bm25query($1, 'lists') LIMIT ${CANDIDATES}`,
        [questions[at] ?? ""],
      );
      return found.map(({ id }) => Number(id));
    });
    const listBytes = await bytesOf("lists");
    await db.close();
    const line = (name: string, one: { ms: number; share: number }, bytes: number, buildMs: number) =>
      [
        name,
        round(one.ms, 2),
        name.endsWith("BM25") ? "–" : round(100 * one.share, 1),
        bytes,
        round(buildMs / texts.length, 2),
      ] as const;
    return {
      tables: [
        {
          head: [
            "candidates from",
            "ms",
            "% of the exact ones",
            "bytes per passage",
            "ms to index a passage",
          ],
          rows: [
            line("memory, exact", memory, dimensions, 0),
            line("pgvector, exact (halfvec)", exact, plainBytes, 0),
            line("pgvector, HNSW, besides", approximate, graphBytes, graph.ms),
            line("pg_textsearch, BM25", bm25, listBytes, lists.ms),
          ],
        },
      ],
      notes: [
        `${texts.length} passages of this repository, ${questions.length} questions, one at a time; PGlite is PostgreSQL in WebAssembly, on one core`,
      ],
      figures: {
        passages: texts.length,
        memoryMs: memory.ms,
        exactMs: exact.ms,
        exactBytes: plainBytes,
        hnswMs: approximate.ms,
        hnswShare: approximate.share,
        hnswBytes: graphBytes,
        hnswBuildMs: graph.ms,
        bm25Ms: bm25.ms,
        bm25Bytes: listBytes,
        bm25BuildMs: lists.ms,
      },
    };
  },
};
