import { LlmcError } from "../../base/error.ts";
import type { VersionLabel } from "../versions/semver.ts";
import {
  bumpRevision,
  collectionId,
  collectionOf,
  noGeneration,
  readGeneration,
} from "./collections-queries.ts";
import { adoptQuestions } from "./questions-queries.ts";
import { first, numberOf, type Query, rows } from "./statements.ts";

export function* promote(generation: number): Query<void> {
  const { state, version } = yield* readGeneration(generation);
  if (state === "open")
    throw new LlmcError("unavailable", `Not all documents of version ${version} are in yet.`, {
      hint: "Run the same llmc kb add again: it goes on where it stopped.",
    });
  const collection = yield* collectionOf(generation);
  const active = yield* first("SELECT active FROM kb_collections WHERE id = ?", collection);
  if (active !== undefined && numberOf(active, "active") === generation) return;
  yield* rows("UPDATE kb_generations SET state = 'sealed' WHERE id = ?", generation);
  yield* rows("UPDATE kb_collections SET active = ? WHERE id = ?", generation, collection);
  yield* rows("DELETE FROM kb_claims WHERE generation = ?", generation);
  yield* adoptQuestions(generation);
  yield* rows("INSERT INTO kb_promotions (collection, generation) VALUES (?, ?)", collection, generation);
  yield* bumpRevision();
}

export function* rollback(name: string): Query<VersionLabel | undefined> {
  const collection = yield* collectionId(name);
  // One that was promoted twice may follow itself: what was between has been removed.
  const before = yield* first(
    `SELECT p.id, p.generation FROM kb_promotions p JOIN kb_collections c ON c.id = p.collection
     WHERE c.id = ? AND p.generation <> c.active ORDER BY p.id DESC LIMIT 1`,
    collection,
  );
  if (before === undefined) return undefined;
  const generation = numberOf(before, "generation");
  yield* rows(
    "DELETE FROM kb_promotions WHERE collection = ? AND id > ?",
    collection,
    numberOf(before, "id"),
  );
  yield* rows("UPDATE kb_collections SET active = ? WHERE id = ?", generation, collection);
  yield* bumpRevision();
  return (yield* readGeneration(generation)).version;
}

export function* pin(workspace: string, name: string, version: string | undefined): Query<void> {
  const collection = yield* collectionId(name);
  yield* rows("DELETE FROM kb_pins WHERE workspace = ? AND collection = ?", workspace, collection);
  if (version !== undefined) {
    const found = yield* first(
      "SELECT id FROM kb_generations WHERE collection = ? AND version = ? AND state = 'sealed'",
      collection,
      version,
    );
    if (found === undefined) throw noGeneration();
    yield* rows(
      "INSERT INTO kb_pins (workspace, collection, generation) VALUES (?, ?, ?)",
      workspace,
      collection,
      numberOf(found, "id"),
    );
  }
  yield* bumpRevision();
}
