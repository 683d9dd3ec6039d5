import type { DatabaseOptions } from "../../host/state/database/open-database.ts";
import { createKbDb } from "../../host/state/kb-db.ts";
import { createTables, SQLITE, STORE_VERSION, TABLE_NAMES } from "./schema.ts";
import type { SqlDriver } from "./sql-store.ts";
import type { Query, SqlRow } from "./statements.ts";

/** The embedded database: one file, any number of processes of this machine. */
export const createSqliteDriver = (options: DatabaseOptions): SqlDriver => {
  const db = createKbDb({
    ...options,
    tables: createTables(SQLITE),
    tableNames: TABLE_NAMES,
    version: STORE_VERSION,
  });
  const run = <T>(work: () => Query<T>): T => {
    const steps = work();
    for (let step = steps.next(); ; ) {
      if (step.done === true) return step.value;
      const { text, values } = step.value;
      step = steps.next(db.sql(text).all(...values) as SqlRow[]);
    }
  };
  return {
    read: async (work) => db.read(() => run(work)),
    write: (work) => db.transactSoon(() => run(work)),
    close: async () => db.close(),
  };
};
