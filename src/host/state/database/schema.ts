import type { DatabaseSync } from "node:sqlite";
import { damage } from "./sqlite-failure.ts";

/** What a database holds, and how an older one is brought up to date. */
export interface DatabaseSchema {
  /** Kept in the database's `user_version`; an empty database has version 0. */
  readonly version: number;
  /**
   * Statements that lead from that version to the current one. Undefined: the database has to be made again.
   */
  readonly migrate: (fromVersion: number) => readonly string[] | undefined;
  /** Tables without which the database counts as damaged. */
  readonly tables: readonly string[];
  /** Settings of each connection. */
  readonly pragmas: string;
  /** Settings that have to be made before the first table is. */
  readonly creationPragmas?: string;
}

const versionOf = (db: DatabaseSync): number =>
  Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);

const migrate = (db: DatabaseSync, schema: DatabaseSchema): boolean => {
  db.exec("BEGIN IMMEDIATE");
  try {
    // Read again inside the transaction: another process, even of a newer llmc, may have migrated it meanwhile.
    const version = versionOf(db);
    const steps = schema.migrate(version);
    for (const step of steps ?? []) db.exec(step);
    if (steps !== undefined && version !== schema.version) db.exec(`PRAGMA user_version = ${schema.version}`);
    db.exec("COMMIT");
    return steps !== undefined;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
};

/** Prepares an open database for use; gives false where it has to be made again. */
export const prepareDatabase = (db: DatabaseSync, schema: DatabaseSchema): boolean => {
  if (versionOf(db) === 0 && schema.creationPragmas !== undefined) db.exec(schema.creationPragmas);
  // With WAL, a power cut can take back the last commits but cannot damage the database. A new one takes the mode without
  // waiting for the disk four times, some 30 ms: until it is first written back, a power cut can take all of it in any case.
  db.exec(
    `PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 8388608;
     PRAGMA trusted_schema = OFF; ${schema.pragmas}`,
  );
  if (versionOf(db) !== schema.version && !migrate(db, schema)) return false;
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (!schema.tables.every((table) => names.some(({ name }) => name === table)))
    throw damage("tables are missing");
  return true;
};
