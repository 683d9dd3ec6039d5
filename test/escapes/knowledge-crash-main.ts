import { createHash } from "node:crypto";
import { join } from "node:path";
import type { SourceItem } from "../../src/documents/contract.ts";
import { ingest } from "../../src/knowledge/ingest/ingest.ts";
import { createPassageEmbedder } from "../../src/knowledge/search/passage-embedder.ts";
import { createSqlStore } from "../../src/knowledge/store/sql-store.ts";
import { createSqliteDriver } from "../../src/knowledge/store/sqlite-driver.ts";
import { testParser } from "../knowledge-documents.ts";

/** Ingests as many documents as it is told, into the store of the workspace that it is told; killed at any moment. */
const [root = "", userState = "", count = "0"] = process.argv.slice(2);
const driver = createSqliteDriver({
  workspace: root,
  userState,
  folder: join(root, ".llmc/kb"),
  onWarning: () => {},
});
const store = createSqlStore({ driver, workspace: root, now: () => Date.now() });
const known = (await store.collections()).some(({ name }) => name === "crash");
if (!known) await store.createCollection("crash", "");
await ingest(
  {
    store,
    embedder: createPassageEmbedder(),
    parser: testParser,
    readSource: async function* () {
      process.stdout.write("begun\n");
      for (let at = 0; at < Number(count); at++) {
        const text = `# Document ${at}\nIt says ${at} times ${at}.\n\n# Second\n${"More text. ".repeat(20)}`;
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
    uriOf: (_, id) => id,
  },
  { collection: "crash", version: "1.0.0", sources: ["/docs"] },
);
await store.close();
process.stdout.write("done\n");
