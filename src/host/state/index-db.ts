import { createDatabase, type Database } from "./database/database.ts";
import type { DatabaseOptions } from "./database/open-database.ts";
import { isDamaged, lacksTables } from "./database/sqlite-failure.ts";

export interface IndexDbOptions extends DatabaseOptions {
  /** Statements that make the tables. */
  readonly tables: string;
  /** Of the tables: a database of another version is made again. */
  readonly version: number;
}

/** Questions are answered from memory; the database is read in order at the start, and written. */
const CACHE_KIB = 2 * 1024;

/**
 * The search index in `index.db`. Everything in it can be made again from the files, so a database that is damaged
 * or was made by another version is moved aside and begun anew.
 */
export const createIndexDb = ({ tables, version, ...options }: IndexDbOptions): Database =>
  createDatabase(
    {
      name: "index.db",
      title: "the search index",
      schema: {
        version,
        migrate: (from) => (from === 0 ? [tables] : from === version ? [] : undefined),
        tables: [],
        pragmas: `PRAGMA cache_size = -${CACHE_KIB}`,
      },
      // Writers hold the lock for milliseconds, and the index has a thread of its own, so a long wait blocks nobody else.
      busyMs: 5000,
      waitMs: 0,
      keepsQuarantined: "last",
      hasMemoryFallback: true,
      isDamage: (error) => isDamaged(error) || lacksTables(error),
      home: "workspace",
    },
    options,
  );
