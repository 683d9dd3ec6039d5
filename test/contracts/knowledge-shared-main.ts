import { createHash } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SourceItem } from "../../src/documents/contract.ts";
import { ingest } from "../../src/knowledge/ingest/ingest.ts";
import { createPassageEmbedder } from "../../src/knowledge/search/passage-embedder.ts";
import { createPostgresDriver } from "../../src/knowledge/store/postgres-driver.ts";
import { createSqlStore } from "../../src/knowledge/store/sql-store.ts";
import { createSqliteDriver } from "../../src/knowledge/store/sqlite-driver.ts";
import { testParser } from "../knowledge-documents.ts";

/**
 * Reads documents into a store that other processes read the same ones into, by the URL of a PostgreSQL server or the
 * folder of a workspace; prints each that it parsed itself.
 */
const [where = "", count = "0", source = "/docs"] = process.argv.slice(2);
const store = createSqlStore({
  driver: where.startsWith("postgres:")
    ? createPostgresDriver({ url: where, key: "test", onError: () => {} })
    : createSqliteDriver({
        workspace: where,
        userState: join(where, "state"),
        folder: join(where, ".llmc/kb"),
        onWarning: () => {},
      }),
  workspace: "/here",
  now: () => Date.now(),
});
process.stdout.write("begun\n");
const report = await ingest(
  {
    store,
    embedder: createPassageEmbedder(),
    parser: {
      parse: async (document, signal) => {
        process.stdout.write(`parsed ${document.name}\n`);
        // As long as a real document takes, so that a process is killed in the middle of some.
        await sleep(30);
        return testParser.parse(document, signal);
      },
    },
    readSource: async function* () {
      for (let at = 0; at < Number(count); at++) {
        const text =
          at % 50 === 49 ? "?" : `# Document ${at}\nIt says ${at}.\n\n# Second\n${"More text. ".repeat(20)}`;
        const bytes = new TextEncoder().encode(text);
        const contentHash = createHash("sha256").update(bytes).digest("base64url");
        const item: SourceItem = { kind: "document", id: `${at}.md`, name: `${at}.md`, bytes, contentHash };
        yield item;
      }
    },
    sourceOptions: () => ({
      denylist: [],
      closed: [],
      network: undefined,
      maxDocumentBytes: 1e6,
      maxDocuments: 1e6,
      timeoutMs: 1000,
    }),
    uriOf: (from, id) => `${from}/${id}`,
  },
  { collection: "shared", version: "1.0.0", sources: [source] },
);
await store.close();
process.stdout.write(`done ${JSON.stringify(report)}\n`);
