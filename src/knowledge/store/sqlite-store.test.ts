import { globSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { describeStore } from "../../../test/contracts/knowledge-store.ts";
import { parseVersion } from "../versions/semver.ts";
import type { Store } from "./contract.ts";
import { createSqlStore } from "./sql-store.ts";
import { createSqliteDriver } from "./sqlite-driver.ts";

const folders = new WeakMap<Store, string>();

const openAt = (root: string, workspace = root): Store => {
  const driver = createSqliteDriver({
    workspace: root,
    userState: process.env["XDG_STATE_HOME"] ?? mkdtempSync(join(tmpdir(), "llmc-test-")),
    folder: join(root, ".llmc/kb"),
    onWarning: () => {},
  });
  const store = createSqlStore({ driver, workspace, now: () => 1000 });
  folders.set(store, root);
  return store;
};

describeStore(
  "SQLite",
  async () => openAt(tempWorkspace()),
  async (store, workspace) => openAt(folders.get(store) ?? "", workspace),
);

test("a store without tables of indexes and claims, as it was before there were any, gets them: REQ-K9", async () => {
  const root = tempWorkspace();
  const store = openAt(root);
  await store.createCollection("hand", "");
  await store.close();
  const [file = ""] = globSync(join(root, ".llmc/kb/**/kb.db"));
  const database = new DatabaseSync(file);
  database.exec(
    "DROP TABLE kb_index_parts; DROP TABLE kb_indexes; DROP TABLE kb_claims; PRAGMA user_version = 1",
  );
  database.close();
  const again = openAt(root);
  expect((await again.collections()).map(({ name }) => name)).toEqual(["hand"]);
  expect(await again.indexes.header(1)).toBeUndefined();
  await again.close();
});

test("a store from before generations were counted goes on with the number after its last one: REQ-K9", async () => {
  const root = tempWorkspace();
  const made = { embedder: "e", base: undefined };
  const store = openAt(root);
  await store.createCollection("hand", "");
  await store.openGeneration("hand", parseVersion("1.0.0"), made);
  const last = await store.openGeneration("hand", parseVersion("2.0.0"), made);
  await store.close();
  const [file = ""] = globSync(join(root, ".llmc/kb/**/kb.db"));
  const database = new DatabaseSync(file);
  database.exec("DELETE FROM kb_meta WHERE name = 'last_generation'; PRAGMA user_version = 2");
  database.close();
  const again = openAt(root);
  await again.discardGeneration(last.id);
  expect((await again.openGeneration("hand", parseVersion("3.0.0"), made)).id).toBe(last.id + 1);
  // As an earlier llmc makes one that was started before.
  const earlier = new DatabaseSync(file);
  earlier.exec(
    "INSERT INTO kb_generations (collection, version, state, embedder, sources, created_ms) VALUES (1, '4.0.0', 'open', 'e', '[]', 0)",
  );
  earlier.close();
  expect((await again.openGeneration("hand", parseVersion("5.0.0"), made)).id).toBe(last.id + 3);
  await again.close();
});

test("a row that cannot be read costs its collection that version, and no other one anything: REQ-K2 REQ-K9", async () => {
  const root = tempWorkspace();
  const store = openAt(root);
  for (const name of ["broken", "whole"]) {
    await store.createCollection(name, "");
    for (const version of ["1.0.0", "2.0.0"]) {
      const { id } = await store.openGeneration(name, parseVersion(version), {
        embedder: "e",
        base: undefined,
      });
      await store.completeGeneration(id, []);
      await store.promote(id);
    }
  }
  const [file = ""] = globSync(join(root, ".llmc/kb/**/kb.db"));
  const database = new DatabaseSync(file);
  database.exec(
    "UPDATE kb_generations SET version = '999999999.1000000000.0' WHERE collection = 1 AND version = '2.0.0'",
  );
  database.close();
  const [broken, whole] = await store.collections();
  expect(broken).toMatchObject({ active: undefined, generations: [{ version: "1.0.0" }], unreadable: 1 });
  expect(whole).toMatchObject({ active: "2.0.0", unreadable: 0 });
  expect(await store.collect("whole", 0, 1000)).toMatchObject({ generations: ["1.0.0"] });
  await store.removeCollection("broken");
  expect((await store.collections()).map(({ name }) => name)).toEqual(["whole"]);
  await store.close();
});
