import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openPostgres, PGLITE_START_MS, type TestPostgres } from "../../../test/postgres.ts";
import { createPostgresRateLimiter } from "./postgres-rate-limiter.ts";

const { LLMC_TEST_POSTGRES_URL: realUrl } = process.env;
const LIMIT = { perSecond: 1, burst: 2 };
const PATIENT = { timeout: 10_000 };
/** A busy machine is not what most of these tests are about. */
const ANSWER_MS = 10_000;

const openStore = (url: string, answerMs = ANSWER_MS) => {
  const store = createPostgresRateLimiter(url, () => {}, answerMs);
  onTestFinished(() => store.close());
  return store;
};

describe("REQ-H3: buckets in PostgreSQL", () => {
  let database: TestPostgres;
  beforeAll(async () => {
    database = await openPostgres();
  }, PGLITE_START_MS);
  afterAll(() => database.close());

  test("machines that start together make one table", async () => {
    await database.rows("DROP TABLE IF EXISTS llmc_rates_v1");
    const stores = Array.from({ length: 6 }, () => openStore(database.url));
    const answers = await Promise.all(stores.map((store) => store.consume("together", LIMIT)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(2);
  });

  test("FAIL-E1: the table holds no name and no token, only digests", async () => {
    await openStore(database.url).consume("a-name-of-somebody", LIMIT);
    const rows = await database.rows("SELECT convert_from(key, 'LATIN1') AS key FROM llmc_rates_v1");
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain("somebody");
    expect(await database.rows("SELECT 1 FROM llmc_rates_v1 WHERE length(key) <> 32")).toEqual([]);
  });

  test("a table that was dropped under it is made anew", async () => {
    const store = openStore(database.url);
    await store.consume("dropped", LIMIT);
    await database.rows("DROP TABLE llmc_rates_v1");
    expect(await store.consume("dropped", LIMIT)).toEqual({ allowed: true, retryAfterMs: 0 });
  });

  test("full buckets lose their row, others keep it", async () => {
    const store = openStore(database.url);
    await store.consume("soon full", { perSecond: 1_000_000, burst: 1 });
    await store.consume("long empty", { perSecond: 0.001, burst: 1 });
    const count = async () =>
      (
        await database.rows("SELECT full_at_ms > extract(epoch FROM now()) * 1000 AS used FROM llmc_rates_v1")
      ).map(({ used }) => used);
    expect(await count()).toContain(false);
    // It sweeps when it is opened, and then every minute.
    openStore(database.url);
    await expect.poll(count, PATIENT).not.toContain(false);
    expect((await store.consume("long empty", { perSecond: 0.001, burst: 1 })).allowed).toBe(false);
  });

  test.each([["the database's clock was set back", LIMIT]])(
    "%s: nobody is locked out for that time",
    async (_why, limit) => {
      const store = openStore(database.url);
      await store.consume("future", limit);
      await database.rows("UPDATE llmc_rates_v1 SET full_at_ms = full_at_ms + 3600000");
      const { allowed, retryAfterMs } = await store.consume("future", limit);
      expect(allowed).toBe(false);
      expect(retryAfterMs).toBeLessThanOrEqual(1000);
      await expect.poll(async () => (await store.consume("future", limit)).allowed, PATIENT).toBe(true);
    },
  );

  test("a limit that is raised counts at once", async () => {
    const store = openStore(database.url);
    await store.consume("raised", { perSecond: 0.001, burst: 1 });
    const { retryAfterMs } = await store.consume("raised", { perSecond: 10, burst: 1 });
    expect(retryAfterMs).toBeLessThanOrEqual(100);
  });

  test("it is used again once it is back", async () => {
    const store = openStore(database.url);
    await store.consume("back", LIMIT);
    await database.stop();
    await expect(store.consume("back", LIMIT)).rejects.toThrow();
    await database.start();
    await expect.poll(async () => (await store.consume("back", LIMIT)).allowed, PATIENT).toBe(true);
  });

  test.each([
    "postgres://user:hunter2@[::1/db",
    "postgres://user:hunter2@host:99999999/db",
    "postgres://user:hunter2%ff@host/db",
    "postgres://user:hunter2@host/db?sslmode=verify-full&sslrootcert=/no/such/file",
  ])("an address that cannot be used is refused, and its password not said: %s", (url) => {
    const open = () => createPostgresRateLimiter(url, () => {});
    expect(open).toThrow(expect.objectContaining({ code: "config_invalid" }));
    expect(open).not.toThrow(/hunter2/);
  });
});

describe.skipIf(realUrl === undefined)("REQ-H3: buckets in a PostgreSQL server of its own", () => {
  const url = realUrl ?? "";
  let admin: Client;
  beforeAll(async () => {
    admin = new Client({ connectionString: url });
    await admin.connect();
  });
  afterAll(() => admin.end());

  /** A schema that is empty, and a role that may use nothing else. */
  const limitedUrl = async (): Promise<string> => {
    const name = `llmc_test_${process.pid}_${Math.trunc(performance.now())}`;
    await admin.query(`CREATE ROLE ${name} LOGIN PASSWORD 'x'; CREATE SCHEMA ${name} AUTHORIZATION ${name}`);
    onTestFinished(() => admin.query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`).then(() => {}));
    const limited = new URL(url);
    limited.username = name;
    limited.password = "x";
    return limited.href;
  };

  const connections = async (of: string): Promise<number> => {
    const { rows } = await admin.query("SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = $1", [
      new URL(of).username,
    ]);
    return rows[0]?.n ?? -1;
  };

  test("a role with rights on its own schema only is enough, also for machines that start together", async () => {
    const limited = await limitedUrl();
    const stores = Array.from({ length: 8 }, () => openStore(limited));
    const answers = await Promise.all(stores.map((store) => store.consume("a", LIMIT)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(2);
    const { rows } = await admin.query(
      "SELECT relpersistence FROM pg_class WHERE relname = 'llmc_rates_v1' AND relnamespace = $1::regnamespace",
      [new URL(limited).username],
    );
    expect(rows).toEqual([{ relpersistence: "u" }]);
  });

  test("it holds under strict isolation and many connections", async () => {
    const strict = new URL(await limitedUrl());
    strict.searchParams.set("options", "-c default_transaction_isolation=serializable");
    const stores = Array.from({ length: 4 }, () => openStore(strict.href));
    await Promise.all(stores.map((store) => store.consume("warm", LIMIT)));
    const startMs = performance.now();
    const limit = { perSecond: 1, burst: 50 };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => stores.map((store) => store.consume("a", limit))).flat(),
    );
    const allowed = answers.filter((one) => one.allowed).length;
    expect(allowed).toBeGreaterThanOrEqual(50);
    expect(allowed).toBeLessThanOrEqual(50 + Math.ceil((performance.now() - startMs) / 1000));
  });

  test("while somebody locks the table it rejects in time, and leaves no statement waiting there", async () => {
    const limited = await limitedUrl();
    const store = openStore(limited, 200);
    await expect.poll(() => store.consume("a", LIMIT).catch(() => undefined), PATIENT).toBeDefined();
    const schema = new URL(limited).username;
    await admin.query(`BEGIN; LOCK TABLE ${schema}.llmc_rates_v1 IN ACCESS EXCLUSIVE MODE`);
    try {
      for (let i = 0; i < 8; i++) await expect(store.consume("a", LIMIT)).rejects.toThrow();
      expect(await connections(limited)).toBeLessThanOrEqual(4);
    } finally {
      await admin.query("ROLLBACK");
    }
    await expect.poll(() => store.consume("b", LIMIT).catch(() => undefined), PATIENT).toBeDefined();
  });

  test("connections that the server ends are replaced", async () => {
    const limited = await limitedUrl();
    const store = openStore(limited);
    await Promise.all(Array.from({ length: 10 }, () => store.consume("a", LIMIT)));
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [
      new URL(limited).username,
    ]);
    await expect.poll(() => store.consume("b", LIMIT).catch(() => undefined), PATIENT).toBeDefined();
  });

  test("a role that may make nothing uses a table that was made for it, and else rejects", async () => {
    const limited = await limitedUrl();
    const name = new URL(limited).username;
    await openStore(limited).consume("a", LIMIT);
    await admin.query(`ALTER TABLE ${name}.llmc_rates_v1 OWNER TO CURRENT_USER; ALTER SCHEMA ${name} OWNER TO CURRENT_USER;
      GRANT USAGE ON SCHEMA ${name} TO ${name}; GRANT SELECT, INSERT, UPDATE, DELETE ON ${name}.llmc_rates_v1 TO ${name}`);
    onTestFinished(() => admin.query(`DROP SCHEMA ${name} CASCADE`).then(() => {}));
    expect((await openStore(limited).consume("b", LIMIT)).allowed).toBe(true);
    await admin.query(`DROP TABLE ${name}.llmc_rates_v1`);
    await expect(openStore(limited).consume("b", LIMIT)).rejects.toThrow();
  });
});
