import { LlmcError } from "../../base/error.ts";
import { createDatabase, type Database } from "./database/database.ts";
import type { DatabaseKind, DatabaseOptions } from "./database/open-database.ts";
import { isDamaged } from "./database/sqlite-failure.ts";
import { LOCK_TABLES } from "./locks/table.ts";

const VERSION = 1;

/**
 * All servers of a user share it: workspaces may lie in one another, or have a root in common, and what they lock are real
 * paths.
 */
const LOCK_DATABASE: DatabaseKind = {
  name: "locks.db",
  title: "the table of locks",
  schema: {
    version: VERSION,
    migrate: (from) => {
      if (from === 0) return [LOCK_TABLES];
      if (from === VERSION) return [];
      throw new LlmcError(
        "unavailable",
        "The table of locks in the user's state folder was made by a newer llmc.",
        {
          hint: "Update this one.",
        },
      );
    },
    tables: ["leases", "fences"],
    pragmas: "",
  },
  busyMs: 20,
  waitMs: 2000,
  keepsQuarantined: "last",
  hasMemoryFallback: false,
  isDamage: isDamaged,
  home: "user",
};

/** Locks on files, in the user's state folder. */
export const createLockDb = (options: DatabaseOptions): Database => createDatabase(LOCK_DATABASE, options);
