/** A value that both databases take and give. */
export type SqlValue = string | number | null | Uint8Array;

export type SqlRow = Readonly<Record<string, unknown>>;

export interface Statement {
  /** With `?` for each value. */
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/**
 * A query of the store, or several: it yields statements and gets their rows. What it does is written once; SQLite runs it
 * without waiting, PostgreSQL over a connection, and both as one transaction.
 */
export type Query<T> = Generator<Statement, T, readonly SqlRow[]>;

export function* rows(text: string, ...values: readonly SqlValue[]): Query<readonly SqlRow[]> {
  return yield { text, values };
}

export function* first(text: string, ...values: readonly SqlValue[]): Query<SqlRow | undefined> {
  const [row] = yield { text, values };
  return row;
}

/** `(?, ?, ?)` for a list of values. */
export const listOf = (values: readonly SqlValue[]): string => `(${values.map(() => "?").join(", ")})`;

/** Databases take a limited number of values per statement. */
const MAX_VALUES = 500;

export const batchesOf = <T>(values: readonly T[], size = MAX_VALUES): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    values.slice(at * size, (at + 1) * size),
  );

export const textOf = (row: SqlRow, name: string): string => String(row[name] ?? "");
export const numberOf = (row: SqlRow, name: string): number => Number(row[name] ?? 0);

export const optionalText = (row: SqlRow, name: string): string | undefined => {
  const value = row[name];
  return value === null || value === undefined ? undefined : String(value);
};

export const optionalNumber = (row: SqlRow, name: string): number | undefined => {
  const value = row[name];
  return value === null || value === undefined ? undefined : Number(value);
};

export const bytesOf = (row: SqlRow, name: string): Uint8Array => {
  const value = row[name];
  return value instanceof Uint8Array ? value : new Uint8Array(0);
};

/** JSON that we wrote ourselves. */
export const jsonOf = <T>(row: SqlRow, name: string): T => JSON.parse(textOf(row, name)) as T;
