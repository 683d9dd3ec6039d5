import { LlmcError } from "../../base/error.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import { createDatabase, type Database } from "./database/database.ts";
import type { DatabaseKind, DatabaseOptions } from "./database/open-database.ts";
import { isDamaged } from "./database/sqlite-failure.ts";
import { HANDLE_TABLES } from "./handles/store.ts";
import { USAGE_TABLES } from "./usage/usage.ts";

/** Of the tables. Earlier ones were never released: such a database is made again. */
const VERSION = 7;

const STATE_DATABASE: DatabaseKind = {
  name: "state.db",
  title: "the state database",
  schema: {
    version: VERSION,
    migrate: (from) => {
      if (from === 0) return [HANDLE_TABLES, USAGE_TABLES];
      if (from === VERSION) return [];
      if (from < VERSION) return undefined;
      throw new LlmcError("unavailable", `The state database in ${STATE_DIR} was made by a newer llmc.`, {
        hint: `Update this one, or remove ${STATE_DIR}: handles and the index are then lost.`,
      });
    },
    tables: ["blobs", "chunks", "handles", "te_calls", "te_sessions"],
    pragmas: "PRAGMA foreign_keys = ON",
    // The file shrinks when handles are removed.
    creationPragmas: "PRAGMA auto_vacuum = INCREMENTAL",
  },
  busyMs: 20,
  waitMs: 2000,
  keepsQuarantined: "all",
  hasMemoryFallback: false,
  isDamage: isDamaged,
  home: "workspace",
};

/** Handles and usage in `state.db`. */
export const createStateDb = (options: DatabaseOptions): Database => createDatabase(STATE_DATABASE, options);
