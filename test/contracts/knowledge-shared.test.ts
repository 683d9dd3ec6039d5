import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Store } from "../../src/knowledge/store/contract.ts";
import { createPostgresDriver } from "../../src/knowledge/store/postgres-driver.ts";
import { TABLE_NAMES } from "../../src/knowledge/store/schema.ts";
import { createSqlStore, type SqlDriver } from "../../src/knowledge/store/sql-store.ts";
import { createSqliteDriver } from "../../src/knowledge/store/sqlite-driver.ts";
import { tempWorkspace } from "../app.ts";
import {
  type InstalledPostgres,
  isPostgresInstalled,
  startInstalledPostgres,
} from "../installed-postgres.ts";

const MAIN = join(import.meta.dirname, "knowledge-shared-main.ts");
const DOCUMENTS = 150;
/** Every fiftieth cannot be parsed. */
const BROKEN = 3;

interface Ended {
  readonly parsed: readonly string[];
  readonly report: { readonly added: readonly string[]; readonly failed: readonly unknown[] } | undefined;
}

/** Ingests in a process of its own, which is killed once it has parsed so many documents. */
const run = (where: string, source: string, killAfter = Number.POSITIVE_INFINITY): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, where, String(DOCUMENTS), source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    const parsed = (): string[] => [...output.matchAll(/^parsed (.*)$/gm)].map(([, name = ""]) => name);
    child.stdout.on("data", (piece: Buffer) => {
      output += piece.toString();
      if (parsed().length >= killAfter) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("close", () => {
      const report = /^done (.*)$/m.exec(output)?.[1];
      resolve({ parsed: parsed(), report: report === undefined ? undefined : JSON.parse(report) });
    });
  });

const counted = async (store: Store, generation: number): Promise<number> => {
  let passages = 0;
  for await (const batch of store.passages(generation)) passages += batch.length;
  return passages;
};

const generationOf = async (store: Store) => {
  const [generation] = (await store.collections())[0]?.generations ?? [];
  if (generation === undefined) throw new Error("there is no generation");
  return generation;
};

/** `open` gives an empty store, and where other processes find it. */
const describeShared = (open: () => Promise<{ readonly store: Store; readonly where: string }>): void => {
  test("FAIL-F6 REQ-K9: three of them, one killed: every document exactly once, and parsed once", async () => {
    const { store, where } = await open();
    const [first, second, killed] = await Promise.all([
      run(where, "/docs"),
      run(where, "/docs"),
      run(where, "/docs", 5),
    ]);
    expect(killed.report).toBeUndefined();
    const generation = await generationOf(store);
    expect(generation).toMatchObject({
      state: "complete",
      documents: DOCUMENTS - BROKEN,
      chunks: 2 * (DOCUMENTS - BROKEN),
      failures: BROKEN,
      sources: ["/docs"],
    });
    const uris = (await store.documents(generation.id)).map(({ uri }) => uri);
    expect(new Set(uris).size).toBe(DOCUMENTS - BROKEN);
    expect(await counted(store, generation.id)).toBe(2 * (DOCUMENTS - BROKEN));
    expect(await store.claims.others(generation.id, "")).toEqual([]);
    // What the killed one was about to finish is parsed again, and nothing else.
    const parsed = [...first.parsed, ...second.parsed, ...killed.parsed];
    expect(parsed.length).toBeLessThanOrEqual(DOCUMENTS + 4 + BROKEN);
    for (const { report } of [first, second]) expect(report?.failed).toHaveLength(BROKEN);
    const added = [...(first.report?.added ?? []), ...(second.report?.added ?? [])];
    expect(new Set(added).size).toBe(added.length);
    await store.close();
  });

  test("REQ-K9: two of them with different sources lose nothing of each other", async () => {
    const { store, where } = await open();
    await Promise.all([run(where, "/a"), run(where, "/b")]);
    const made = await generationOf(store);
    expect(made).toMatchObject({ state: "complete", documents: 2 * (DOCUMENTS - BROKEN) });
    expect(made.sources.toSorted()).toEqual(["/a", "/b"]);
    await store.close();
  });
};

const openWith = async (driver: SqlDriver, where: string) => {
  const store = createSqlStore({ driver, workspace: "/here", now: () => Date.now() });
  await store.createCollection("shared", "");
  return { store, where };
};

describe("processes that share a SQLite store", () => {
  describeShared(async () => {
    const root = tempWorkspace();
    const driver = createSqliteDriver({
      workspace: root,
      userState: join(root, "state"),
      folder: join(root, ".llmc/kb"),
      onWarning: () => {},
    });
    return openWith(driver, root);
  });
});

describe.skipIf(!isPostgresInstalled)(
  "processes that share a PostgreSQL server, where it is installed",
  () => {
    let server: InstalledPostgres;
    beforeAll(async () => {
      server = await startInstalledPostgres();
    });
    afterAll(() => server.close());
    describeShared(async () => {
      await server.rows(`DROP TABLE IF EXISTS ${TABLE_NAMES.join(", ")} CASCADE`);
      return openWith(createPostgresDriver({ url: server.url, key: "test", onError: () => {} }), server.url);
    });
  },
);
