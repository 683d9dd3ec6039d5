import { LlmcError } from "../../base/error.ts";
import { createDatabase, type Database } from "./database/database.ts";
import type { DatabaseOptions } from "./database/open-database.ts";
import { isDamaged } from "./database/sqlite-failure.ts";

export interface KbDbOptions extends DatabaseOptions {
  /** Statements that make the tables which are not there yet. */
  readonly tables: string;
  /** Tables without which the database counts as damaged. */
  readonly tableNames: readonly string[];
  readonly version: number;
}

/** Chunks are read in order when a generation is loaded; what a query reads fits in this. */
const CACHE_KIB = 8 * 1024;

/** Knowledge bases in `kb.db`. Unlike the index they cannot be made again from what is at hand: nothing is thrown away. */
export const createKbDb = ({ tables, tableNames, version, ...options }: KbDbOptions): Database =>
  createDatabase(
    {
      name: "kb.db",
      home: "workspace",
      title: "the knowledge base store",
      schema: {
        version,
        migrate: (from) => {
          if (from === version) return [];
          // Tables that are missing are made; those of earlier versions have not changed.
          if (from < version) return [tables];
          throw new LlmcError(
            "unavailable",
            "The knowledge base store was made by another version of llmc.",
            {
              hint: "Use that version to export its collections (llmc kb export), then import them here.",
            },
          );
        },
        tables: tableNames,
        pragmas: `PRAGMA foreign_keys = ON; PRAGMA cache_size = -${CACHE_KIB}`,
        creationPragmas: "PRAGMA auto_vacuum = INCREMENTAL",
      },
      busyMs: 2000,
      waitMs: 10_000,
      keepsQuarantined: "all",
      hasMemoryFallback: false,
      isDamage: isDamaged,
    },
    options,
  );
