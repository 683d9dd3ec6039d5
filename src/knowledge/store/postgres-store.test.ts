import { afterAll, beforeAll } from "vitest";
import { describeStore } from "../../../test/contracts/knowledge-store.ts";
import { openPostgres, PGLITE_START_MS, type TestPostgres } from "../../../test/postgres.ts";
import type { Store } from "./contract.ts";
import { createPostgresDriver } from "./postgres-driver.ts";
import { TABLE_NAMES } from "./schema.ts";
import { createSqlStore } from "./sql-store.ts";

let server: TestPostgres;
beforeAll(async () => {
  server = await openPostgres();
}, PGLITE_START_MS);
afterAll(() => server.close());

const openAt = (workspace = "/here"): Store =>
  createSqlStore({
    driver: createPostgresDriver({ url: server.url, key: "mcp.kb.store_url_env", onError: () => {} }),
    workspace,
    now: () => 1000,
  });

describeStore(
  "PostgreSQL: REQ-K9",
  async () => {
    await server.rows(`DROP TABLE IF EXISTS ${TABLE_NAMES.join(", ")} CASCADE`);
    return openAt();
  },
  async (_, workspace) => openAt(workspace),
);
