import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type InstalledPostgres,
  isPostgresInstalled,
  startInstalledPostgres,
} from "../../../test/installed-postgres.ts";
import { openPostgres, type PostgresQuery } from "./postgres.ts";

describe.skipIf(!isPostgresInstalled)("transactions at the same time, where PostgreSQL is installed", () => {
  let server: InstalledPostgres;
  let database: ReturnType<typeof openPostgres>;
  beforeAll(async () => {
    server = await startInstalledPostgres();
    database = openPostgres({ url: server.url, key: "test", onError: () => {} });
    await database.define("CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL)");
  });
  afterAll(async () => {
    await database.close();
    await server.close();
  });
  const reset = () => server.rows("DELETE FROM counters; INSERT INTO counters VALUES ('a', 0), ('b', 0)");
  const readValue = async (query: PostgresQuery, name: string): Promise<number> =>
    Number((await query("SELECT value FROM counters WHERE name = $1", [name]))[0]?.["value"]);

  test("what cannot be as if alone is done again, until it is: REQ-K9", async () => {
    await reset();
    let attempts = 0;
    const increment = (query: PostgresQuery) =>
      (async () => {
        attempts++;
        const value = await readValue(query, "a");
        await sleep(5);
        await query("UPDATE counters SET value = $1 WHERE name = 'a'", [value + 1]);
      })();
    await Promise.all(Array.from({ length: 10 }, () => database.write(increment)));
    expect(await database.read((query) => readValue(query, "a"))).toBe(10);
    expect(attempts).toBeGreaterThan(10);
  });

  test("of two that wait for each other one is done again: REQ-K9", async () => {
    await reset();
    let attempts = 0;
    const add = (query: PostgresQuery, name: string) =>
      query("UPDATE counters SET value = value + 1 WHERE name = $1", [name]);
    let begun = 0;
    const both = (names: readonly [string, string]) => async (query: PostgresQuery) => {
      attempts++;
      await add(query, names[0]);
      begun++;
      // Both hold one row before either asks for the other.
      while (begun < 2) await sleep(1);
      await add(query, names[1]);
    };
    await Promise.all([database.write(both(["a", "b"])), database.write(both(["b", "a"]))]);
    expect(attempts).toBeGreaterThan(2);
    expect(await database.read((query) => readValue(query, "a"))).toBe(2);
    expect(await database.read((query) => readValue(query, "b"))).toBe(2);
  });
});
