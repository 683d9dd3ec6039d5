import { INDEX_TABLES } from "./schema.ts";
import { bytesOf, first, optionalText, type Query, rows } from "./statements.ts";

export function* dropIndex(generation: number): Query<void> {
  for (const table of INDEX_TABLES) yield* rows(`DELETE FROM ${table} WHERE generation = ?`, generation);
}

/** Only for a generation that has all its documents. From now on, parts of earlier builders are ignored. */
export function* beginIndex(generation: number, builder: string): Query<void> {
  yield* dropIndex(generation);
  yield* rows(
    `INSERT INTO kb_indexes (generation, builder, header)
     SELECT id, CAST(? AS TEXT), NULL FROM kb_generations WHERE id = ? AND state <> 'open'`,
    builder,
    generation,
  );
}

export function* addIndexPart(
  generation: number,
  builder: string,
  part: { readonly section: string; readonly piece: number; readonly bytes: Uint8Array },
): Query<void> {
  const own = yield* first(
    "SELECT generation FROM kb_indexes WHERE generation = ? AND builder = ?",
    generation,
    builder,
  );
  if (own === undefined) return;
  yield* rows(
    "INSERT INTO kb_index_parts (generation, section, piece, bytes) VALUES (?, ?, ?, ?)",
    generation,
    part.section,
    part.piece,
    part.bytes,
  );
}

export function* finishIndex(generation: number, builder: string, header: string): Query<void> {
  yield* rows(
    "UPDATE kb_indexes SET header = ? WHERE generation = ? AND builder = ?",
    header,
    generation,
    builder,
  );
}

export function* readIndexHeader(generation: number): Query<string | undefined> {
  const row = yield* first("SELECT header FROM kb_indexes WHERE generation = ?", generation);
  return row === undefined ? undefined : optionalText(row, "header");
}

export function* readIndexPart(
  generation: number,
  section: string,
  piece: number,
): Query<Uint8Array | undefined> {
  const row = yield* first(
    "SELECT bytes FROM kb_index_parts WHERE generation = ? AND section = ? AND piece = ?",
    generation,
    section,
    piece,
  );
  return row === undefined ? undefined : bytesOf(row, "bytes");
}
