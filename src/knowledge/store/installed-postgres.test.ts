import { afterAll, beforeAll, describe } from "vitest";
import { describeStore } from "../../../test/contracts/knowledge-store.ts";
import {
  type InstalledPostgres,
  isPostgresInstalled,
  startInstalledPostgres,
} from "../../../test/installed-postgres.ts";
import type { Store } from "./contract.ts";
import { createPostgresDriver } from "./postgres-driver.ts";
import { TABLE_NAMES } from "./schema.ts";
import { createSqlStore } from "./sql-store.ts";

describe.skipIf(!isPostgresInstalled)("the PostgreSQL server of this machine, where it is installed", () => {
  let server: InstalledPostgres;
  beforeAll(async () => {
    server = await startInstalledPostgres();
  });
  afterAll(() => server.close());

  const openAt = (workspace = "/here"): Store =>
    createSqlStore({
      driver: createPostgresDriver({ url: server.url, key: "mcp.kb.store_url_env", onError: () => {} }),
      workspace,
      now: () => 1000,
    });

  describeStore(
    "PostgreSQL with many sessions: REQ-K9",
    async () => {
      await server.rows(`DROP TABLE IF EXISTS ${TABLE_NAMES.join(", ")} CASCADE`);
      return openAt();
    },
    async (_, workspace) => openAt(workspace),
  );
});
