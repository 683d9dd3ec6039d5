import { LlmcError } from "../../base/error.ts";
import type { ChunkKind } from "../../retrieve/chunk/chunk.ts";
import { changeDocuments, checkOpen, collectionId, collectionOf } from "./collections-queries.ts";
import type { ChunkPosition, DocumentFacts, Failure, IndexedPassage, NewChunk, Passage } from "./contract.ts";
import {
  batchesOf,
  bytesOf,
  first,
  jsonOf,
  listOf,
  numberOf,
  optionalNumber,
  optionalText,
  type Query,
  rows,
  type SqlRow,
  textOf,
} from "./statements.ts";

export function* knownDocuments(name: string, keys: readonly string[]): Query<ReadonlySet<string>> {
  const collection = yield* collectionId(name);
  const known = new Set<string>();
  for (const batch of batchesOf(keys)) {
    const found = yield* rows(
      `SELECT doc_key FROM kb_documents WHERE collection = ? AND doc_key IN ${listOf(batch)}`,
      collection,
      ...batch,
    );
    for (const row of found) known.add(textOf(row, "doc_key"));
  }
  return known;
}

function* ownCollection(generation: number): Query<number> {
  yield* checkOpen(generation);
  return yield* collectionOf(generation);
}

/** A document that is in has neither claim nor failure. */
function* clear(generation: number, { key, uri }: Pick<DocumentFacts, "key" | "uri">): Query<void> {
  yield* rows("DELETE FROM kb_claims WHERE generation = ? AND doc_key = ?", generation, key);
  yield* rows("DELETE FROM kb_failures WHERE generation = ? AND uri = ?", generation, uri);
}

/** One document per source and URI, but for imports: several sources of their maker may have had a document of one URI. */
function* link(
  generation: number,
  document: number,
  facts: Pick<DocumentFacts, "key" | "uri">,
): Query<boolean> {
  yield* clear(generation, facts);
  const member = yield* first(
    "SELECT document FROM kb_members WHERE generation = ? AND document = ?",
    generation,
    document,
  );
  if (member !== undefined) return false;
  yield* changeDocuments(generation);
  yield* rows(
    `DELETE FROM kb_members WHERE generation = ? AND document <> ? AND document IN
       (SELECT other.id FROM kb_documents other JOIN kb_documents own
          ON own.collection = other.collection AND own.uri = other.uri AND own.source = other.source
        WHERE own.id = ?)
       AND NOT EXISTS (SELECT 1 FROM kb_imports WHERE generation = ?)`,
    generation,
    document,
    document,
    generation,
  );
  yield* rows(
    "INSERT INTO kb_members (generation, document) VALUES (?, ?) ON CONFLICT DO NOTHING",
    generation,
    document,
  );
  return true;
}

function* insertChunk(document: number, chunk: NewChunk): Query<void> {
  yield* rows(
    `INSERT INTO kb_chunks (document, ordinal, kind, headings, anchor, page, start_line, end_line, text, terms, vector)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    document,
    chunk.ordinal,
    chunk.kind,
    JSON.stringify(chunk.headings),
    chunk.anchor ?? null,
    chunk.page ?? null,
    chunk.startLine ?? null,
    chunk.endLine ?? null,
    chunk.text,
    chunk.terms,
    new Uint8Array(chunk.vector.buffer, chunk.vector.byteOffset, chunk.vector.byteLength),
  );
}

export function* addDocument(
  generation: number,
  document: DocumentFacts,
  chunks: readonly NewChunk[],
): Query<void> {
  const collection = yield* ownCollection(generation);
  const made = yield* first(
    `INSERT INTO kb_documents
       (collection, doc_key, uri, source, title, format, licence, version, hash, bytes, warnings, chunks)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collection, doc_key) DO NOTHING RETURNING id`,
    collection,
    document.key,
    document.uri,
    document.source,
    document.title,
    document.format,
    document.licence ?? null,
    document.version ?? null,
    document.hash,
    document.bytes,
    JSON.stringify(document.warnings),
    chunks.length,
  );
  if (made === undefined) {
    yield* linkIn(collection, generation, document.key);
    return;
  }
  const id = numberOf(made, "id");
  for (const chunk of chunks) yield* insertChunk(id, chunk);
  yield* link(generation, id, document);
}

function* linkIn(collection: number, generation: number, key: string): Query<boolean> {
  const row = yield* first(
    "SELECT id, uri FROM kb_documents WHERE collection = ? AND doc_key = ?",
    collection,
    key,
  );
  // Collected in the meantime: whoever adds it tries again with its content.
  if (row === undefined)
    throw new LlmcError("busy", "The document was removed while it was added.", { retryable: true });
  return yield* link(generation, numberOf(row, "id"), { key, uri: textOf(row, "uri") });
}

export function* linkDocument(generation: number, key: string): Query<boolean> {
  return yield* linkIn(yield* ownCollection(generation), generation, key);
}

export function* removeDocuments(generation: number, keys: readonly string[]): Query<void> {
  const collection = yield* ownCollection(generation);
  for (const batch of batchesOf(keys)) {
    const removed = yield* rows(
      `DELETE FROM kb_members WHERE generation = ? AND document IN
         (SELECT id FROM kb_documents WHERE collection = ? AND doc_key IN ${listOf(batch)}) RETURNING document`,
      generation,
      collection,
      ...batch,
    );
    if (removed.length > 0) yield* changeDocuments(generation);
  }
}

export function* recordFailure(generation: number, { uri, reason }: Failure): Query<void> {
  yield* checkOpen(generation);
  yield* rows(
    `INSERT INTO kb_failures (generation, uri, reason) VALUES (?, ?, ?)
     ON CONFLICT (generation, uri) DO UPDATE SET reason = excluded.reason`,
    generation,
    uri,
    reason,
  );
}

export function* readFailures(generation: number): Query<readonly Failure[]> {
  const found = yield* rows(
    "SELECT uri, reason FROM kb_failures WHERE generation = ? ORDER BY uri",
    generation,
  );
  return found.map((row) => ({ uri: textOf(row, "uri"), reason: textOf(row, "reason") }));
}

export const FACTS =
  "d.doc_key, d.uri, d.source, d.title, d.format, d.licence, d.version, d.hash, d.bytes, d.warnings";

export const toFacts = (row: SqlRow): DocumentFacts => ({
  key: textOf(row, "doc_key"),
  uri: textOf(row, "uri"),
  source: textOf(row, "source"),
  title: textOf(row, "title"),
  format: textOf(row, "format"),
  licence: optionalText(row, "licence"),
  version: optionalText(row, "version"),
  hash: textOf(row, "hash"),
  bytes: numberOf(row, "bytes"),
  warnings: jsonOf<readonly string[]>(row, "warnings"),
});

export function* readDocuments(generation: number): Query<readonly DocumentFacts[]> {
  const found = yield* rows(
    `SELECT ${FACTS} FROM kb_members m JOIN kb_documents d ON d.id = m.document
     WHERE m.generation = ? ORDER BY d.uri`,
    generation,
  );
  return found.map(toFacts);
}

/** Documents whose chunks are read at once. */
const DOCUMENTS_PER_BATCH = 200;

const toIndexed = (row: SqlRow): IndexedPassage => {
  const vector = bytesOf(row, "vector");
  return {
    id: numberOf(row, "id"),
    document: numberOf(row, "document"),
    uri: textOf(row, "uri"),
    kind: textOf(row, "kind") as ChunkKind,
    terms: bytesOf(row, "terms"),
    vector: new Int8Array(vector.buffer, vector.byteOffset, vector.byteLength),
  };
};

export function* readBatch(
  generation: number,
  after: number,
): Query<{ readonly passages: readonly IndexedPassage[]; readonly last: number | undefined }> {
  const members = yield* rows(
    "SELECT document FROM kb_members WHERE generation = ? AND document > ? ORDER BY document LIMIT ?",
    generation,
    after,
    DOCUMENTS_PER_BATCH,
  );
  const lastRow = members.at(-1);
  if (lastRow === undefined) return { passages: [], last: undefined };
  const last = numberOf(lastRow, "document");
  const found = yield* rows(
    `SELECT c.id, c.document, d.uri, c.kind, c.terms, c.vector FROM kb_members m
     JOIN kb_documents d ON d.id = m.document JOIN kb_chunks c ON c.document = m.document
     WHERE m.generation = ? AND m.document > ? AND m.document <= ? ORDER BY c.document, c.ordinal`,
    generation,
    after,
    last,
  );
  return { passages: found.map(toIndexed), last };
}

/** Where a passage stands; the text lies behind these columns, and is not touched when they are read. */
export const POSITION = "c.ordinal, c.kind, c.headings, c.anchor, c.page, c.start_line, c.end_line";
export const PASSAGE = `c.id, ${POSITION}, c.text, ${FACTS}`;

export const toPosition = (row: SqlRow): ChunkPosition => ({
  ordinal: numberOf(row, "ordinal"),
  kind: textOf(row, "kind") as ChunkKind,
  headings: jsonOf<readonly string[]>(row, "headings"),
  anchor: optionalText(row, "anchor"),
  page: optionalNumber(row, "page"),
  startLine: optionalNumber(row, "start_line"),
  endLine: optionalNumber(row, "end_line"),
});

export const toPassage = (row: SqlRow): Passage => ({
  id: numberOf(row, "id"),
  ...toPosition(row),
  text: textOf(row, "text"),
  document: toFacts(row),
});

export function* readPassages(generation: number, ids: readonly number[]): Query<readonly Passage[]> {
  const byId = new Map<number, Passage>();
  for (const batch of batchesOf(ids)) {
    const found = yield* rows(
      `SELECT ${PASSAGE} FROM kb_chunks c JOIN kb_documents d ON d.id = c.document
       JOIN kb_members m ON m.document = d.id AND m.generation = ? WHERE c.id IN ${listOf(batch)}`,
      generation,
      ...batch,
    );
    for (const row of found) byId.set(numberOf(row, "id"), toPassage(row));
  }
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export function* readDocument(generation: number, key: string): Query<readonly Passage[] | undefined> {
  const member = yield* first(
    `SELECT d.id FROM kb_members m JOIN kb_documents d ON d.id = m.document
     WHERE m.generation = ? AND d.doc_key = ?`,
    generation,
    key,
  );
  if (member === undefined) return undefined;
  const found = yield* rows(
    `SELECT ${PASSAGE} FROM kb_chunks c JOIN kb_documents d ON d.id = c.document
     WHERE c.document = ? ORDER BY c.ordinal`,
    numberOf(member, "id"),
  );
  return found.map(toPassage);
}
