import { openPostgres, type PostgresOptions, type PostgresQuery } from "../../host/state/postgres.ts";
import { createTables, POSTGRES } from "./schema.ts";
import type { SqlDriver } from "./sql-store.ts";
import type { Query, Statement } from "./statements.ts";

/** `?` becomes `$1`, `$2` …; our statements have no other question marks. */
const numbered = (text: string): string => {
  let count = 0;
  return text.replaceAll("?", () => `$${++count}`);
};

const valuesOf = ({ values }: Statement): readonly unknown[] =>
  values.map((value) =>
    value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value,
  );

const drive = async <T>(query: PostgresQuery, work: () => Query<T>): Promise<T> => {
  const steps = work();
  for (let step = steps.next(); ; ) {
    if (step.done === true) return step.value;
    step = steps.next(await query(numbered(step.value.text), valuesOf(step.value)));
  }
};

/** A PostgreSQL server, which any number of machines share. */
export const createPostgresDriver = (options: PostgresOptions): SqlDriver => {
  const database = openPostgres(options);
  let preparing: Promise<void> | undefined;
  const prepared = (): Promise<void> => {
    preparing ??= database.define(createTables(POSTGRES)).catch((error: unknown) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  };
  return {
    read: async (work) => {
      await prepared();
      return database.read((query) => drive(query, work));
    },
    write: async (work) => {
      await prepared();
      return database.write((query) => drive(query, work));
    },
    close: database.close,
  };
};
