import type { DatabaseSync } from "node:sqlite";
import { LlmcError } from "../../base/error.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import { type DatabasePlace, judgeDatabase, MARK_TABLE, writeMark } from "../own-files/marked-database.ts";
import { damage } from "./database/sqlite-failure.ts";
import { HANDLE_PRINCIPALS, HANDLE_TABLES } from "./handles/schema.ts";
import { LOCK_TABLES } from "./locks/schema.ts";
import { USAGE_OWNERS, USAGE_TABLES } from "./usage/schema.ts";

/** Each brings the database from its index to the next version; those that were released never change. */
const MIGRATIONS = [
  `${LOCK_TABLES} ${HANDLE_TABLES}`,
  USAGE_TABLES,
  MARK_TABLE,
  `${HANDLE_PRINCIPALS} ${USAGE_OWNERS}`,
];
const TABLES = ["leases", "fences", "blobs", "chunks", "handles", "te_calls", "te_sessions"];

const versionOf = (db: DatabaseSync): number =>
  Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);

const migrate = (db: DatabaseSync, place: DatabasePlace): void => {
  if (versionOf(db) < MIGRATIONS.length) {
    db.exec("BEGIN IMMEDIATE");
    try {
      // Looked at again: another process, even of a newer llmc, may have done it meanwhile.
      const verdict = judgeDatabase(db, place);
      if (verdict === "unsigned") throw damage("it has no valid mark");
      const version = versionOf(db);
      for (const step of MIGRATIONS.slice(version)) db.exec(step);
      if (verdict === "fresh") writeMark(db, place);
      if (version < MIGRATIONS.length) db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
      db.exec("COMMIT");
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }
  if (versionOf(db) > MIGRATIONS.length) {
    throw new LlmcError("unavailable", `${STATE_DIR}/state.db was made by a newer llmc.`, {
      hint: "Update this one, or remove the file: handles are then lost.",
    });
  }
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (!TABLES.every((table) => names.some(({ name }) => name === table))) throw damage("tables are missing");
};

/** Makes an open state database ready for use; closes it where that fails. */
export const prepareState = (db: DatabaseSync, place: DatabasePlace): void => {
  try {
    // Counts only before the first write, and waits for other writers after it. The file shrinks when handles go.
    if (versionOf(db) === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
       PRAGMA journal_size_limit = 8388608`,
    );
    migrate(db, place);
  } catch (error) {
    db.close();
    throw error;
  }
};
