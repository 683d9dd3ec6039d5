import { LlmcError } from "../../base/error.ts";
import { compareVersions, parseVersion, type VersionLabel } from "../versions/semver.ts";
import type { Collection, EvalScores, Generation, GenerationRequest, Source } from "./contract.ts";
import { dropIndex } from "./index-queries.ts";
import { GENERATION_TABLES } from "./schema.ts";
import {
  first,
  jsonOf,
  numberOf,
  optionalText,
  type Query,
  rows,
  type SqlRow,
  textOf,
} from "./statements.ts";

/** Told to everybody who keeps something about collections in memory. */
export function* bumpRevision(): Query<void> {
  yield* rows("UPDATE kb_meta SET value = value + 1 WHERE name = 'revision'");
}

export const noCollection = (name: string): LlmcError =>
  new LlmcError("resource_not_found", `There is no knowledge base ${JSON.stringify(name)}.`, {
    hint: "kb_list_collections, or llmc kb ls, shows those there are.",
  });

export const noGeneration = (): LlmcError =>
  new LlmcError("resource_not_found", "There is no such version of the knowledge base any more.", {
    hint: "llmc kb ls shows the versions there are.",
  });

export function* collectionId(name: string): Query<number> {
  const row = yield* first("SELECT id FROM kb_collections WHERE name = ?", name);
  if (row === undefined) throw noCollection(name);
  return numberOf(row, "id");
}

/** Number of the collection that a generation belongs to. */
export function* collectionOf(generation: number): Query<number> {
  const row = yield* first("SELECT collection FROM kb_generations WHERE id = ?", generation);
  if (row === undefined) throw noGeneration();
  return numberOf(row, "collection");
}

const GENERATION = `g.id, g.collection, g.version, g.state, g.embedder, g.sources, g.scores, g.created_ms, g.documents,
  g.chunks, g.bytes, (SELECT count(*) FROM kb_failures f WHERE f.generation = g.id) AS failures,
  (SELECT count(*) FROM kb_imports i WHERE i.generation = g.id) AS imports`;

const toGeneration = (row: SqlRow, collection: string): Generation => ({
  id: numberOf(row, "id"),
  collection,
  version: parseVersion(textOf(row, "version")),
  isImported: numberOf(row, "imports") > 0,
  state: textOf(row, "state") as Generation["state"],
  embedder: textOf(row, "embedder"),
  sources: jsonOf<readonly Source[]>(row, "sources"),
  scores: optionalText(row, "scores") === undefined ? undefined : jsonOf<EvalScores>(row, "scores"),
  createdMs: numberOf(row, "created_ms"),
  documents: numberOf(row, "documents"),
  chunks: numberOf(row, "chunks"),
  bytes: numberOf(row, "bytes"),
  failures: numberOf(row, "failures"),
});

/** A row that cannot be read costs its collection a version, and no other collection anything. */
const readableGeneration = (row: SqlRow, collection: string): readonly Generation[] => {
  try {
    return [toGeneration(row, collection)];
  } catch {
    return [];
  }
};

export function* readGeneration(id: number): Query<Generation> {
  const row = yield* first(
    `SELECT ${GENERATION}, c.name FROM kb_generations g JOIN kb_collections c ON c.id = g.collection WHERE g.id = ?`,
    id,
  );
  if (row === undefined) throw noGeneration();
  return toGeneration(row, textOf(row, "name"));
}

export function* listCollections(workspace: string): Query<readonly Collection[]> {
  const collections = yield* rows(
    "SELECT id, name, product, created_ms, active FROM kb_collections ORDER BY name",
  );
  const generations = yield* rows(`SELECT ${GENERATION} FROM kb_generations g`);
  const pins = yield* rows("SELECT collection, generation FROM kb_pins WHERE workspace = ?", workspace);
  return collections.map((row) => {
    const [id, name] = [numberOf(row, "id"), textOf(row, "name")];
    const stored = generations.filter((one) => numberOf(one, "collection") === id);
    const own = stored
      .flatMap((one) => readableGeneration(one, name))
      .sort((a, b) => compareVersions(b.version, a.version));
    const versionOf = (generation: number): VersionLabel | undefined =>
      own.find((one) => one.id === generation)?.version;
    const pin = pins.find((one) => numberOf(one, "collection") === id);
    return {
      name,
      product: textOf(row, "product"),
      createdMs: numberOf(row, "created_ms"),
      active: versionOf(numberOf(row, "active")),
      pinned: pin === undefined ? undefined : versionOf(numberOf(pin, "generation")),
      generations: own,
      unreadable: stored.length - own.length,
    };
  });
}

export function* createCollection(name: string, product: string, nowMs: number): Query<void> {
  const known = yield* first("SELECT id FROM kb_collections WHERE name = ?", name);
  if (known !== undefined)
    throw new LlmcError("already_exists", `There is a knowledge base ${JSON.stringify(name)} already.`, {
      hint: "llmc kb add adds documents to it.",
    });
  yield* rows(
    "INSERT INTO kb_collections (name, product, created_ms) VALUES (?, ?, ?)",
    name,
    product,
    nowMs,
  );
  yield* bumpRevision();
}

export function* removeCollection(name: string): Query<void> {
  const id = yield* collectionId(name);
  for (const table of GENERATION_TABLES)
    yield* rows(
      `DELETE FROM ${table} WHERE generation IN (SELECT id FROM kb_generations WHERE collection = ?)`,
      id,
    );
  yield* rows("DELETE FROM kb_generations WHERE collection = ?", id);
  yield* rows(
    "DELETE FROM kb_chunks WHERE document IN (SELECT id FROM kb_documents WHERE collection = ?)",
    id,
  );
  yield* rows("DELETE FROM kb_documents WHERE collection = ?", id);
  yield* rows("DELETE FROM kb_collections WHERE id = ?", id);
  yield* bumpRevision();
}

const isSealed = (version: string): LlmcError =>
  new LlmcError("already_exists", `Version ${version} was promoted and never changes any more.`, {
    hint: "Choose another --version, or leave it out for the next one.",
  });

const wasImported = (version: string): LlmcError =>
  new LlmcError("already_exists", `Version ${version} was imported and does not change.`, {
    hint: "Choose another --version, or leave it out for the next one.",
  });

/** Its index belongs to the documents that it had. */
function* reopenGeneration(id: number): Query<void> {
  yield* rows("UPDATE kb_generations SET state = 'open' WHERE id = ?", id);
  yield* dropIndex(id);
  yield* bumpRevision();
}

/** Whoever changes the documents of a generation that another run completed meanwhile completes it once more. */
export function* changeDocuments(generation: number): Query<void> {
  const { state, isImported, version } = yield* checkOpen(generation);
  if (state !== "complete") return;
  if (isImported) throw wasImported(version);
  yield* reopenGeneration(generation);
}

/**
 * Processes keep indexes and hits in memory under the number of their generation, so a number is never used again; SQLite
 * by itself would give that of the last row, once it is removed, to the next one. The maximum counts because an earlier
 * llmc, still running, makes generations without this.
 */
function* newGenerationId(): Query<number> {
  const row = yield* first(
    `UPDATE kb_meta SET value = 1 + CASE WHEN EXISTS (SELECT 1 FROM kb_generations g WHERE g.id > kb_meta.value)
       THEN (SELECT max(id) FROM kb_generations) ELSE value END
     WHERE name = 'last_generation' RETURNING value`,
  );
  return numberOf(row ?? {}, "value");
}

const isThere = (collection: string, version: string): LlmcError =>
  new LlmcError("already_exists", `${collection} has a version ${version} already.`);

export function* openGeneration(
  collection: string,
  version: VersionLabel,
  request: GenerationRequest,
  nowMs: number,
): Query<Generation> {
  const id = yield* collectionId(collection);
  const known = yield* first(
    "SELECT id FROM kb_generations WHERE collection = ? AND version = ?",
    id,
    version,
  );
  if (known !== undefined) {
    if (request.pack !== undefined) throw isThere(collection, version);
    const { id: knownId, state, isImported } = yield* readGeneration(numberOf(known, "id"));
    if (state === "sealed") throw isSealed(version);
    if (isImported) throw wasImported(version);
    yield* reopenGeneration(knownId);
    return yield* readGeneration(knownId);
  }
  const base = request.base === undefined ? undefined : yield* readGeneration(request.base);
  const generation = yield* newGenerationId();
  yield* rows(
    `INSERT INTO kb_generations (id, collection, version, state, embedder, sources, created_ms)
     VALUES (?, ?, ?, 'open', ?, ?, ?)`,
    generation,
    id,
    version,
    request.embedder,
    JSON.stringify(request.pack === undefined ? (base?.sources ?? []) : [request.pack.source]),
    nowMs,
  );
  if (request.pack !== undefined)
    yield* rows(
      "INSERT INTO kb_imports (generation, questions) VALUES (?, ?)",
      generation,
      JSON.stringify(request.pack.questions),
    );
  if (base !== undefined)
    yield* rows(
      `INSERT INTO kb_members (generation, document)
       SELECT CAST(? AS BIGINT), document FROM kb_members WHERE generation = ?`,
      generation,
      base.id,
    );
  yield* bumpRevision();
  return yield* readGeneration(generation);
}

export function* checkOpen(generation: number): Query<Generation> {
  const found = yield* readGeneration(generation);
  if (found.state === "sealed") throw isSealed(found.version);
  return found;
}

export function* completeGeneration(
  generation: number,
  added: readonly Source[],
  removed: readonly Source[],
): Query<void> {
  // As they are now, and not when the run began: another may have added its own.
  const { sources: before } = yield* checkOpen(generation);
  const sources = [...new Set([...before, ...added])].filter((source) => !removed.includes(source));
  // Nobody knows which source a failure is of; where none is left, it is of none.
  if (sources.length === 0) yield* rows("DELETE FROM kb_failures WHERE generation = ?", generation);
  const totals = yield* first(
    `SELECT count(*) AS documents, sum(d.chunks) AS chunks, sum(d.bytes) AS bytes
     FROM kb_members m JOIN kb_documents d ON d.id = m.document WHERE m.generation = ?`,
    generation,
  );
  yield* rows(
    "UPDATE kb_generations SET state = 'complete', sources = ?, documents = ?, chunks = ?, bytes = ? WHERE id = ?",
    JSON.stringify(sources),
    numberOf(totals ?? {}, "documents"),
    numberOf(totals ?? {}, "chunks"),
    numberOf(totals ?? {}, "bytes"),
    generation,
  );
  yield* bumpRevision();
}

export function* saveScores(generation: number, scores: EvalScores): Query<void> {
  yield* rows("UPDATE kb_generations SET scores = ? WHERE id = ?", JSON.stringify(scores), generation);
  yield* bumpRevision();
}
