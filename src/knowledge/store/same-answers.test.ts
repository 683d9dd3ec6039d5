import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { readTestSource, testParser } from "../../../test/knowledge-documents.ts";
import { openPostgres, PGLITE_START_MS, type TestPostgres } from "../../../test/postgres.ts";
import { loadNearestRows } from "../../retrieve/embed/nearest-rows.ts";
import { mean, ndcgAt } from "../evaluate/metrics.ts";
import { ingest } from "../ingest/ingest.ts";
import { createLoadedGenerations } from "../search/loaded-generations.ts";
import { createPassageEmbedder } from "../search/passage-embedder.ts";
import { searchGeneration } from "../search/search-generation.ts";
import { createPostgresDriver } from "./postgres-driver.ts";
import { createSqlStore, type SqlDriver } from "./sql-store.ts";
import { createSqliteDriver } from "./sqlite-driver.ts";

let server: TestPostgres;
beforeAll(async () => {
  server = await openPostgres();
}, PGLITE_START_MS);
afterAll(() => server.close());

const ROOT = join(import.meta.dirname, "../../..");
const SHOWN = 10;

/** Our own documentation, and a question for each of its headings. */
const documents = Object.fromEntries(
  globSync("docs/{guides,decisions}/*.md", { cwd: ROOT })
    .toSorted()
    .map((file) => [file, readFileSync(join(ROOT, file), "utf8")]),
);
const questions = Object.entries(documents).flatMap(([file, text]) =>
  [...text.matchAll(/^##? (.*)$/gm)].map(([, query = ""]) => ({ query, gold: `docs/${file}` })),
);

/** The URIs that each question finds, best first. */
const answersOf = async (driver: SqlDriver): Promise<readonly (readonly string[])[]> => {
  const embedder = createPassageEmbedder();
  const store = createSqlStore({ driver, workspace: "/here", now: () => 1000 });
  await store.createCollection("docs", "");
  const options = {
    denylist: [],
    closed: [],
    network: undefined,
    maxDocumentBytes: 1e6,
    maxDocuments: 1e6,
    timeoutMs: 1000,
  };
  await ingest(
    {
      store,
      embedder,
      parser: testParser,
      readSource: readTestSource({ docs: documents }),
      sourceOptions: () => options,
      uriOf: (source, id) => `${source}/${id}`,
    },
    { collection: "docs", version: "1.0.0", sources: ["docs"] },
  );
  const loaded = createLoadedGenerations({
    store,
    dimensions: embedder.dimensions,
    nearestRows: loadNearestRows(),
    holder: "test",
    now: () => 1000,
    maxBytes: () => 1e9,
    collections: store.collections,
  });
  const [generation] = (await store.collections())[0]?.generations ?? [];
  if (generation === undefined) throw new Error("there is no generation");
  const answers: (readonly string[])[] = [];
  for (const { query } of questions) {
    const { evidence } = await searchGeneration({ store, loaded, embedder }, generation, query, SHOWN);
    answers.push([...new Set(evidence.map(({ passage }) => passage.document.uri))]);
  }
  await loaded.close();
  await store.close();
  return answers;
};

const ndcgOf = (answers: readonly (readonly string[])[]): number =>
  mean(questions.map(({ gold }, at) => ndcgAt(answers[at]?.map((uri) => uri === gold) ?? [], 1, SHOWN)));

test(
  "REQ-K9 REQ-K3: SQLite and PostgreSQL find the same, nDCG within 0.01",
  async () => {
    const root = tempWorkspace();
    const embedded = await answersOf(
      createSqliteDriver({
        workspace: root,
        userState: process.env["XDG_STATE_HOME"] ?? root,
        folder: join(root, ".llmc/kb"),
        onWarning: () => {},
      }),
    );
    const shared = await answersOf(
      createPostgresDriver({ url: server.url, key: "mcp.kb.store_url_env", onError: () => {} }),
    );
    expect(questions.length).toBeGreaterThan(100);
    expect(ndcgOf(embedded)).toBeGreaterThan(0.6);
    expect(Math.abs(ndcgOf(embedded) - ndcgOf(shared))).toBeLessThan(0.01);
    // Passages of equal score stand in the order in which they were added, which parallel parsing does not fix.
    const same = questions.filter((_, at) => embedded[at]?.[0] === shared[at]?.[0]).length;
    expect(same / questions.length).toBeGreaterThan(0.98);
  },
  PGLITE_START_MS,
);
