import { LlmcError } from "../../base/error.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import { createDatabase, type Database } from "./database/database.ts";
import { MARK_TABLE } from "./database/marked-database.ts";
import type { DatabaseKind, DatabaseOptions } from "./database/open-database.ts";
import { isDamaged } from "./database/sqlite-failure.ts";
import { HANDLE_PRINCIPALS, HANDLE_TABLES } from "./handles/schema.ts";
import { LOCK_TABLES } from "./locks/schema.ts";
import { USAGE_OWNERS, USAGE_PROFILES, USAGE_TABLES } from "./usage/schema.ts";

/** Each leads from the version of its index to the next; those that were released never change. */
const MIGRATIONS = [
  `${LOCK_TABLES} ${HANDLE_TABLES}`,
  USAGE_TABLES,
  MARK_TABLE,
  `${HANDLE_PRINCIPALS} ${USAGE_OWNERS}`,
  USAGE_PROFILES,
];

const STATE_DATABASE: DatabaseKind = {
  name: "state.db",
  title: "the state database",
  schema: {
    version: MIGRATIONS.length,
    migrate: (version) => {
      if (version <= MIGRATIONS.length) return MIGRATIONS.slice(version);
      throw new LlmcError("unavailable", `${STATE_DIR}/state.db was made by a newer llmc.`, {
        hint: "Update this one, or remove the file: handles are then lost.",
      });
    },
    tables: ["leases", "fences", "blobs", "chunks", "handles", "te_calls", "te_sessions"],
    pragmas: "PRAGMA foreign_keys = ON",
    // The file shrinks when handles are removed.
    creationPragmas: "PRAGMA auto_vacuum = INCREMENTAL",
  },
  busyMs: 20,
  waitMs: 2000,
  keepsQuarantined: "all",
  hasMemoryFallback: false,
  isDamage: isDamaged,
};

/** Locks, handles and usage in `.llmc/state.db`. */
export const createStateDb = (options: DatabaseOptions): Database => createDatabase(STATE_DATABASE, options);
