import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ingest } from "../../src/knowledge/ingest/ingest.ts";
import { createKnowledge } from "../../src/knowledge/knowledge.ts";
import { createPassageEmbedder } from "../../src/knowledge/search/passage-embedder.ts";
import { createSqlStore } from "../../src/knowledge/store/sql-store.ts";
import { createSqliteDriver } from "../../src/knowledge/store/sqlite-driver.ts";
import { loadNearestRows } from "../../src/retrieve/embed/nearest-rows.ts";
import { tempWorkspace } from "../app.ts";
import { readTestSource, testParser } from "../knowledge-documents.ts";
import { rounds } from "../rounds.ts";

const QUERIES = rounds(3000, 100_000);
const TIMEOUT_MS = rounds(60_000, 1_200_000);
const ALL = { permitCollection: () => {}, permitFlow: () => {} };
const embedder = createPassageEmbedder();

/** Two processes would do the same: each of them has a store and an engine of its own over one file. */
const open = (root: string, holder: string) => {
  const driver = createSqliteDriver({
    workspace: root,
    userState: join(root, "state"),
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  const store = createSqlStore({ driver, workspace: root, now: () => Date.now() });
  return createKnowledge({
    store,
    embedder,
    nearestRows: loadNearestRows(),
    cache: { get: () => undefined, set: () => {} },
    maxIndexBytes: () => 1024 ** 3,
    maxAskMs: () => 10_000,
    openModel: async () => undefined,
    modelLimits: () => ({ maxOutputTokens: 0, timeoutMs: 0 }),
    flows: () => [],
    holder,
    newCode: () => "",
    now: () => Date.now(),
  });
};

const documentsOf = (version: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from({ length: 5 }, (_, at) => [
      `${at}.md`,
      `# Part ${at}\nThis sentence is of version ${version}.`,
    ]),
  );

describe("promotion while questions are asked", () => {
  test("REQ-K2: no answer fails, and none mixes versions", { timeout: TIMEOUT_MS }, async () => {
    const root = tempWorkspace();
    const [operator, asking] = [open(root, "operator"), open(root, "asking")];
    await operator.store.createCollection("hand", "");
    const add = async (version: string): Promise<number> => {
      await ingest(
        {
          store: operator.store,
          embedder,
          parser: testParser,
          readSource: readTestSource({ docs: documentsOf(version) }),
          sourceOptions: () => ({
            denylist: [],
            closed: [],
            network: undefined,
            maxDocumentBytes: 1e6,
            maxDocuments: 1e6,
            timeoutMs: 1000,
          }),
          uriOf: (_, id) => id,
        },
        { collection: "hand", version, sources: ["docs"] },
      );
      const [generation] = (await operator.store.collections())[0]?.generations ?? [];
      return generation?.id ?? 0;
    };
    await operator.store.promote(await add("1.0.0"));
    let asked = 0;
    const seen = new Set<string>();
    const ask = async (): Promise<void> => {
      while (asked < QUERIES) {
        asked++;
        const hits = await asking.hybridSearch(
          { collection: "hand", query: "sentence of a version", top_k: 5 },
          ALL,
        );
        const versions = new Set(hits.map(({ citation }) => citation.version));
        const stated = new Set(hits.map(({ snippet }) => /version (\S+)\.$/.exec(snippet)?.[1]));
        if (hits.length !== 5 || versions.size !== 1 || stated.size !== 1 || !stated.has([...versions][0]))
          throw new Error(`mixed: ${[...versions].join()} ${[...stated].join()}`);
        seen.add([...versions][0] ?? "");
        if (asked % 20 === 0) await new Promise((go) => setImmediate(go));
      }
    };
    const change = async (): Promise<void> => {
      for (let minor = 1; asked < QUERIES; minor++) {
        await new Promise((go) => setImmediate(go));
        await operator.store.promote(await add(`1.${minor}.0`));
        if (minor % 3 === 0) await operator.store.rollback("hand");
        await operator.store.collect("hand", 1, Date.now());
      }
    };
    const stopOnFailure = (thrown: unknown): never => {
      asked = QUERIES;
      throw thrown;
    };
    await Promise.all([
      ask().catch(stopOnFailure),
      ask().catch(stopOnFailure),
      change().catch(stopOnFailure),
    ]);
    expect(seen.size).toBeGreaterThan(2);
    await operator.close();
    await asking.close();
  });
});
