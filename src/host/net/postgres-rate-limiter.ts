import { hash } from "node:crypto";
import { Client, Pool } from "pg";
import { LlmcError } from "../../base/error.ts";

interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Every request waits for the store, so it must answer within this time. */
const ANSWER_MS = 250;
const CONNECT_MS = 2000;
/** Decisions about one token lock the same row, so more connections would only wait in the database. */
const MAX_CONNECTIONS = 4;
const IDLE_MS = 60_000;
const SWEEP_MS = 60_000;
const SWEEP_ROWS = 1000;

/** With the version in the name, servers of two versions can run side by side. Buckets are short-lived: no migration. */
const TABLE_NAME = "llmc_rates_v1";

/** The table is always named with its schema, so that one of the same name elsewhere in the search path is never used. */
const SELECT_SCHEMA = "SELECT quote_ident(current_schema()) AS schema";

/**
 * Unlogged, so that a decision does not wait for the disk; after a crash of the database all buckets are full. The lock
 * is needed because "IF NOT EXISTS" fails when two servers create the table at the same time. The fill factor leaves
 * room in each page, so that a row can be updated in place.
 */
const createTable = (table: string): string => `
SELECT pg_advisory_xact_lock(${0x6c6c6d63});
CREATE UNLOGGED TABLE IF NOT EXISTS ${table} (
  key bytea PRIMARY KEY,
  full_at_ms float8 NOT NULL,
  wait_ms float8 NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE ${table} IS 'Rate limits of llmc: when each bucket will be full again. Created again when it is missing.'`;

const NOW_MS = "extract(epoch FROM clock_timestamp())::float8 * 1000";

/**
 * Sent before each statement, in the same message. The database enforces the timeout, so that a statement that was given
 * up here does not keep waiting for a lock there. It is not set for the session, which a connection pooler may share.
 */
const transactionLimits = (answerMs: number): string => `
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout = ${answerMs};`;

/**
 * A bucket is one number: the time at which it will be full again, in milliseconds of the database's clock, so that
 * servers whose clocks differ can share it. The row is locked before the clock is read. A time later than that of an
 * empty bucket (the clock was set back, or the limit was lower) counts as that of an empty one. `wait_ms` is a column
 * because RETURNING can only return the new row.
 */
const consumeStatement = (table: string, key: string, { perSecond, burst }: Limit): string => {
  const interval = `${1000 / perSecond}::float8`;
  const capacity = `${(burst * 1000) / perSecond}::float8`;
  return `
INSERT INTO ${table} AS bucket VALUES (decode('${hash("sha256", key)}', 'hex'), ${NOW_MS} + ${interval}, 0)
ON CONFLICT (key) DO UPDATE SET (full_at_ms, wait_ms) = (
  SELECT CASE WHEN wait > 0.01 THEN start ELSE start + ${interval} END, CASE WHEN wait > 0.01 THEN wait ELSE 0 END
  FROM (SELECT ${NOW_MS} AS now) AS clock,
    LATERAL (SELECT greatest(now, least(bucket.full_at_ms, now + ${capacity})) AS start) AS bounded,
    LATERAL (SELECT start + ${interval} - ${capacity} - now AS wait) AS judged
) RETURNING wait_ms`;
};

/** Deletes the rows of full buckets, except those that are locked, so that two servers never wait for each other. */
const deleteFull = (table: string): string => `
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE full_at_ms < ${NOW_MS} LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED
)`;

const UNDEFINED_TABLE = "42P01";

const isTableMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === UNDEFINED_TABLE;

/** The URL may hold a password, so neither it nor the parser's message is repeated. */
const checkUrl = (url: string): void => {
  try {
    new Client({ connectionString: url });
  } catch {
    throw new LlmcError("config_invalid", "mcp.limits.state_url: this PostgreSQL URL cannot be used.", {
      hint: "Expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded (%40 for @) and existing files for sslrootcert, sslcert and sslkey.",
    });
  }
};

const withTimeout = async <T>(work: Promise<T>, limitMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("no answer in time")), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** Does the work once for all who wait for it, and again if it failed. */
const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
};

/** Rate limits in PostgreSQL, for several servers with the same tokens. Rejects if the database does not answer. */
export const createPostgresRateLimiter = (
  url: string,
  onError: (error: Error) => void,
  answerMs: number = ANSWER_MS,
) => {
  checkUrl(url);
  const connectMs = Math.max(CONNECT_MS, answerMs);
  const pool = new Pool({
    connectionString: url,
    fallback_application_name: "llmc",
    // One connection stays open, so that a request seldom waits for a new one.
    min: 1,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: IDLE_MS,
    // A connection whose query times out is closed, and the next decision opens another one.
    query_timeout: answerMs * 2,
    keepAlive: true,
  });
  pool.on("error", onError);

  const findTable = once(async (): Promise<string> => {
    const schema: unknown = (await pool.query(SELECT_SCHEMA)).rows[0]?.schema;
    if (typeof schema !== "string") throw new Error("the role has no schema to use");
    return `${schema}.${TABLE_NAME}`;
  });
  const run = async (statement: (table: string) => string): Promise<unknown> => {
    const table = await findTable();
    const message = `${transactionLimits(answerMs)}${statement(table)}`;
    try {
      return await pool.query(message);
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await pool.query(`${transactionLimits(connectMs)}${createTable(table)}`);
      return pool.query(message);
    }
  };

  const sweep = (): Promise<unknown> => run(deleteFull).catch(onError);
  // The first sweep opens a connection and creates the table before a request has to wait for them.
  void sweep();
  const timer = setInterval(() => void sweep(), SWEEP_MS).unref();

  return {
    consume: async (key: string, limit: Limit) => {
      const answers = await withTimeout(
        run((table) => consumeStatement(table, key, limit)),
        answerMs,
      );
      const waitMs = Array.isArray(answers) ? Number(answers.at(-1)?.rows[0]?.wait_ms) : Number.NaN;
      if (!Number.isFinite(waitMs)) throw new Error("the answer is not a number");
      return { allowed: waitMs === 0, retryAfterMs: waitMs };
    },
    close: async (): Promise<void> => {
      clearInterval(timer);
      await pool.end();
    },
  };
};
