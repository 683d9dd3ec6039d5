import * as activeVersion from "./active-version-queries.ts";
import * as claims from "./claims-queries.ts";
import * as garbage from "./collect-queries.ts";
import * as collections from "./collections-queries.ts";
import type { IndexedPassage, Store } from "./contract.ts";
import * as documents from "./documents-queries.ts";
import * as indexes from "./index-queries.ts";
import * as reading from "./passages-queries.ts";
import * as evaluation from "./questions-queries.ts";
import type { Query } from "./statements.ts";

/** What runs the work of a store: one database. */
export interface SqlDriver {
  /** Reads that see one state. */
  read<T>(work: () => Query<T>): Promise<T>;
  /** All or nothing, as the only writer of what it reads. */
  write<T>(work: () => Query<T>): Promise<T>;
  close(): Promise<void>;
}

export interface SqlStoreOptions {
  readonly driver: SqlDriver;
  /** Whose pins are meant. */
  readonly workspace: string;
  readonly now: () => number;
}

/** The store over any database that speaks SQL. */
export const createSqlStore = ({ driver, workspace, now }: SqlStoreOptions): Store => {
  const { read, write } = driver;
  async function* passages(generation: number): AsyncGenerator<readonly IndexedPassage[]> {
    for (let after = 0; ; ) {
      const from = after;
      const { passages: found, last } = await read(() => documents.readBatch(generation, from));
      if (last === undefined) return;
      yield found;
      after = last;
    }
  }
  return {
    revision: () => read(garbage.readRevision),
    collections: () => read(() => collections.listCollections(workspace)),
    createCollection: (name, product) => write(() => collections.createCollection(name, product, now())),
    removeCollection: (name) => write(() => collections.removeCollection(name)),
    openGeneration: (name, version, request) =>
      write(() => collections.openGeneration(name, version, request, now())),
    completeGeneration: (generation, sources, removed = []) =>
      write(() => collections.completeGeneration(generation, sources, removed)),
    discardGeneration: (generation, claim) => write(() => garbage.discardGeneration(generation, claim)),
    saveScores: (generation, scores) => write(() => collections.saveScores(generation, scores)),
    promote: (generation) => write(() => activeVersion.promote(generation)),
    rollback: (name) => write(() => activeVersion.rollback(name)),
    pin: (name, version) => write(() => activeVersion.pin(workspace, name, version)),
    knownDocuments: (name, keys) => read(() => documents.knownDocuments(name, keys)),
    addDocument: (generation, document, chunks) =>
      write(() => documents.addDocument(generation, document, chunks)),
    linkDocument: (generation, key) => write(() => documents.linkDocument(generation, key)),
    removeDocuments: (generation, keys) => write(() => documents.removeDocuments(generation, keys)),
    recordFailure: (generation, failure) => write(() => documents.recordFailure(generation, failure)),
    failures: (generation) => read(() => documents.readFailures(generation)),
    documents: (generation) => read(() => documents.readDocuments(generation)),
    passages,
    readPassages: (generation, ids) => read(() => documents.readPassages(generation, ids)),
    readPositions: (generation, keys) => read(() => reading.readPositions(generation, keys)),
    readPart: (generation, key, range, maxChars) =>
      read(() => reading.readPart(generation, key, range, maxChars)),
    readDocument: (generation, key) => read(() => documents.readDocument(generation, key)),
    claims: {
      take: (generation, key, holder) => write(() => claims.takeClaim(generation, key, holder)),
      renew: (generation, holder) => write(() => claims.renewClaims(generation, holder)),
      others: (generation, holder) => read(() => claims.readClaims(generation, holder)),
      fail: (generation, key, holder, reason) =>
        write(() => claims.failClaim(generation, key, holder, reason)),
      drop: (generation, claim) => write(() => claims.dropClaim(generation, claim)),
      release: (generation, holder) => write(() => claims.releaseClaims(generation, holder)),
    },
    indexes: {
      begin: (generation, builder) => write(() => indexes.beginIndex(generation, builder)),
      add: (generation, builder, part) => write(() => indexes.addIndexPart(generation, builder, part)),
      finish: (generation, builder, header) => write(() => indexes.finishIndex(generation, builder, header)),
      header: (generation) => read(() => indexes.readIndexHeader(generation)),
      part: (generation, section, piece) => read(() => indexes.readIndexPart(generation, section, piece)),
    },
    questions: (name, generation) => read(() => evaluation.readQuestions(name, generation)),
    saveQuestions: (name, questions) => write(() => evaluation.saveQuestions(name, questions)),
    hold: (generation, holder, untilMs) => write(() => garbage.hold(generation, holder, untilMs)),
    release: (generation, holder) => write(() => garbage.release(generation, holder)),
    collect: (name, keep, nowMs) => write(() => garbage.collect(name, keep, nowMs)),
    close: driver.close,
  };
};
