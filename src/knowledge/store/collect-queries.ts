import {
  bumpRevision,
  checkOpen,
  collectionId,
  collectionOf,
  listCollections,
} from "./collections-queries.ts";
import type { Claim, Removed } from "./contract.ts";
import { GENERATION_TABLES } from "./schema.ts";
import { batchesOf, first, listOf, numberOf, type Query, rows, type SqlRow, textOf } from "./statements.ts";

export function* hold(generation: number, holder: string, untilMs: number): Query<void> {
  yield* rows(
    `INSERT INTO kb_holds (generation, holder, until_ms) VALUES (?, ?, ?)
     ON CONFLICT (generation, holder) DO UPDATE SET until_ms = excluded.until_ms`,
    generation,
    holder,
    untilMs,
  );
}

export function* release(generation: number, holder: string): Query<void> {
  yield* rows("DELETE FROM kb_holds WHERE generation = ? AND holder = ?", generation, holder);
}

/** Generations that any process on any machine needs. */
function* neededGenerations(collection: number, nowMs: number): Query<ReadonlySet<number>> {
  const found = yield* rows(
    `SELECT active AS id FROM kb_collections WHERE id = ? AND active IS NOT NULL
     UNION SELECT generation FROM kb_pins WHERE collection = ?
     UNION SELECT h.generation FROM kb_holds h JOIN kb_generations g ON g.id = h.generation
       WHERE g.collection = ? AND h.until_ms > ?
     UNION SELECT id FROM kb_generations WHERE collection = ? AND state <> 'sealed'`,
    collection,
    collection,
    collection,
    nowMs,
    collection,
  );
  return new Set(found.map((row) => numberOf(row, "id")));
}

function* removeGeneration(id: number): Query<void> {
  for (const table of GENERATION_TABLES) yield* rows(`DELETE FROM ${table} WHERE generation = ?`, id);
  yield* rows("DELETE FROM kb_generations WHERE id = ?", id);
}

/** Documents that no generation has. */
function* removeOrphans(collection: number): Query<number> {
  const found = yield* rows(
    `SELECT d.id FROM kb_documents d WHERE d.collection = ? AND NOT EXISTS
       (SELECT 1 FROM kb_members m WHERE m.document = d.id)`,
    collection,
  );
  for (const batch of batchesOf(found.map((row) => numberOf(row, "id")))) {
    yield* rows(`DELETE FROM kb_chunks WHERE document IN ${listOf(batch)}`, ...batch);
    yield* rows(`DELETE FROM kb_documents WHERE id IN ${listOf(batch)}`, ...batch);
  }
  return found.length;
}

function* isOnlyClaim(generation: number, { key, holder }: Pick<Claim, "key" | "holder">): Query<boolean> {
  const claims = yield* rows("SELECT doc_key, holder FROM kb_claims WHERE generation = ?", generation);
  const isOwn = (row: SqlRow): boolean => textOf(row, "holder") === holder;
  return claims.every(isOwn) && claims.some((row) => isOwn(row) && textOf(row, "doc_key") === key);
}

export function* discardGeneration(id: number, claim?: Pick<Claim, "key" | "holder">): Query<void> {
  yield* checkOpen(id);
  if (claim !== undefined && !(yield* isOnlyClaim(id, claim))) return;
  const collection = yield* collectionOf(id);
  yield* removeGeneration(id);
  yield* removeOrphans(collection);
  yield* bumpRevision();
}

export function* collect(name: string, keep: number, nowMs: number): Query<Removed> {
  const collection = yield* collectionId(name);
  yield* rows("DELETE FROM kb_holds WHERE until_ms <= ?", nowMs);
  const needed = yield* neededGenerations(collection, nowMs);
  const all = (yield* listCollections("")).find((one) => one.name === name)?.generations ?? [];
  const last = new Set(
    all
      .filter(({ state }) => state === "sealed")
      .slice(0, keep)
      .map(({ id }) => id),
  );
  const removed = all.filter(({ id }) => !needed.has(id) && !last.has(id));
  for (const { id } of removed) yield* removeGeneration(id);
  const documents = yield* removeOrphans(collection);
  if (removed.length > 0) yield* bumpRevision();
  return { generations: removed.map(({ version }) => version), documents };
}

export function* readRevision(): Query<string> {
  const row = yield* first("SELECT value FROM kb_meta WHERE name = 'revision'");
  return String(row?.["value"] ?? 0);
}
