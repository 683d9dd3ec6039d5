import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../../test/app.ts";
import { createCatalogue } from "./catalogue.ts";
import { getDocument } from "./read-document.ts";
import { resolveCitations } from "./resolve-citations.ts";
import { createSqlStore, type SqlDriver } from "./store/sql-store.ts";
import { createSqliteDriver } from "./store/sqlite-driver.ts";
import type { Query } from "./store/statements.ts";
import { parseVersion } from "./versions/semver.ts";

const ALL = { permitCollection: () => {}, permitFlow: () => {} };
const KEY = "0123456789abcdef0123";
const PASSAGES = 3000;

/** Counts what is read. */
const measured = (driver: SqlDriver) => {
  const read = { statements: 0, rows: 0, chars: 0 };
  function* counting<T>(work: Query<T>): Query<T> {
    for (let step = work.next(); ; ) {
      if (step.done === true) return step.value;
      const found = yield step.value;
      read.statements++;
      read.rows += found.length;
      for (const row of found)
        for (const value of Object.values(row)) if (typeof value === "string") read.chars += value.length;
      step = work.next(found);
    }
  }
  const counted: SqlDriver = { ...driver, read: (work) => driver.read(() => counting(work())) };
  const during = async <T>(ask: () => Promise<T>): Promise<T> => {
    Object.assign(read, { statements: 0, rows: 0, chars: 0 });
    return ask();
  };
  return { driver: counted, read, during };
};

/** A document of 7.5 MB. */
const openLong = async () => {
  const root = tempWorkspace();
  const { driver, read, during } = measured(
    createSqliteDriver({
      workspace: root,
      userState: process.env["XDG_STATE_HOME"] ?? root,
      folder: join(root, ".llmc/kb"),
      onWarning: () => {},
    }),
  );
  const store = createSqlStore({ driver, workspace: root, now: () => 1000 });
  await store.createCollection("hand", "");
  const made = await store.openGeneration("hand", parseVersion("1.0.0"), { embedder: "e", base: undefined });
  const facts = {
    key: KEY,
    uri: "big.md",
    source: "s",
    title: "Big",
    format: "markdown",
    hash: "h",
    bytes: 1,
  };
  await store.addDocument(
    made.id,
    { ...facts, licence: undefined, version: undefined, warnings: [] },
    Array.from({ length: PASSAGES }, (_, ordinal) => ({
      ordinal,
      kind: "prose" as const,
      headings: [`Part ${ordinal}`],
      anchor: undefined,
      page: undefined,
      startLine: ordinal + 1,
      endLine: ordinal + 1,
      text: "x".repeat(2500),
      terms: new Uint8Array(0),
      vector: new Int8Array(4),
    })),
  );
  await store.completeGeneration(made.id, ["s"]);
  await store.promote(made.id);
  const parts = { store, catalogue: createCatalogue(store) };
  await parts.catalogue.list();
  return { parts, read, during };
};

const idOf = (ordinal: number, version = "1.0.0"): string => `hand@${version}/${KEY}#${ordinal}`;

test("a hundred citations of a long document cost a hundred rows without texts, in one statement: REQ-K3", async () => {
  const { parts, read, during } = await openLong();
  const ids = Array.from({ length: 98 }, (_, at) => idOf(at * 30));
  const asked = [idOf(7, "9.9.9"), ...ids, idOf(PASSAGES)];
  const resolved = await during(() => resolveCitations(parts, asked, ALL));
  expect(resolved.map(({ title }) => title)).toEqual([
    asked[0],
    ...ids.map((_, at) => `Big: Part ${at * 30}`),
    asked.at(-1),
  ]);
  expect(resolved.filter(({ error }) => error !== undefined)).toHaveLength(2);
  // The others ask whether anything has changed.
  expect(read.statements).toBeLessThanOrEqual(3);
  expect(read.rows).toBeLessThan(110);
  expect(read.chars).toBeLessThan(30_000);
  await parts.store.close();
});

test("a range of a long document reads that range, and the whole one what is shown: REQ-K3", async () => {
  const { parts, read, during } = await openLong();
  const doc_id = `hand@1.0.0/${KEY}`;
  const some = await during(() => getDocument(parts, { doc_id, range: "#2990-2999" }, ALL));
  expect(some.chunks).toHaveLength(10);
  expect(some.metadata).toMatchObject({ chunks: PASSAGES, warnings: [] });
  expect(read.chars).toBeLessThan(30_000);
  const whole = await during(() => getDocument(parts, { doc_id }, ALL));
  expect(whole.chunks).toHaveLength(24);
  expect(whole.metadata.warnings).toEqual(["2976 more passages: ask for the range #24-2999"]);
  expect(read.chars).toBeLessThan(150_000);
  await parts.store.close();
});
