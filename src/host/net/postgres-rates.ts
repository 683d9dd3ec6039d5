import { hash } from "node:crypto";
import { Client, Pool } from "pg";
import { LlmcError } from "../../base/error.ts";

interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/** A store that is slower than this helps nobody: a request waits for it. */
const ANSWER_MS = 250;
const CONNECT_MS = 2000;
/** Decisions about one token wait for each other in the database: more connections would only wait there. */
const MAX_CONNECTIONS = 4;
const IDLE_MS = 60_000;
const SWEEP_MS = 60_000;
const SWEEP_ROWS = 1000;

/**
 * The version is in the name: buckets live for seconds, so there is nothing to bring along, and machines of two
 * versions can run side by side while they are replaced.
 */
const NAME = "llmc_rates_v1";

/**
 * Asked once, and then named: a table of the same name in another schema of the path, such as one that all may write,
 * is not ours.
 */
const SCHEMA = "SELECT quote_ident(current_schema()) AS schema";

/**
 * Unlogged: a decision then waits for no disk, and what a crash of the database loses is full buckets. The lock keeps
 * machines that start together from making the table twice, which "if not exists" alone does not. Room in each page
 * lets a row be changed in place.
 */
const creation = (table: string): string => `
SELECT pg_advisory_xact_lock(${0x6c6c6d63});
CREATE UNLOGGED TABLE IF NOT EXISTS ${table} (
  key bytea PRIMARY KEY,
  full_at_ms float8 NOT NULL,
  wait_ms float8 NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE ${table} IS 'Rate limits of llmc: when each bucket will be full again. Made anew when it is missing.'`;

const NOW_MS = "extract(epoch FROM clock_timestamp())::float8 * 1000";

/**
 * Goes before each statement, in the same message. The timeout is the server's own: there, a statement that was given up
 * here would wait on behind somebody's lock. Not set for the session, which behind a connection pooler is others' too.
 */
const bounds = (answerMs: number): string => `
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCAL statement_timeout = ${answerMs};`;

/**
 * A bucket as one number: when it will be full again, in milliseconds of the database's own clock, so that machines
 * whose clocks differ share it. The row is locked before the clock is read. A time that is further away than an empty
 * bucket's (the clock was set back, or the limit was lower) counts as empty. `wait_ms` is a column because only the new
 * row can be returned.
 */
const decision = (table: string, key: string, { perSecond, burst }: Limit): string => {
  const interval = `${1000 / perSecond}::float8`;
  const whole = `${(burst * 1000) / perSecond}::float8`;
  return `
INSERT INTO ${table} AS bucket VALUES (decode('${hash("sha256", key)}', 'hex'), ${NOW_MS} + ${interval}, 0)
ON CONFLICT (key) DO UPDATE SET (full_at_ms, wait_ms) = (
  SELECT CASE WHEN wait > 0.01 THEN start ELSE start + ${interval} END, CASE WHEN wait > 0.01 THEN wait ELSE 0 END
  FROM (SELECT ${NOW_MS} AS now) AS clock,
    LATERAL (SELECT greatest(now, least(bucket.full_at_ms, now + ${whole})) AS start) AS bounded,
    LATERAL (SELECT start + ${interval} - ${whole} - now AS wait) AS judged
) RETURNING wait_ms`;
};

/** A full bucket needs no row. Rows that somebody is using are left out, so that two machines never wait for each other. */
const sweeping = (table: string): string => `
DELETE FROM ${table} WHERE key IN (
  SELECT key FROM ${table} WHERE full_at_ms < ${NOW_MS} LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED
)`;

const UNDEFINED_TABLE = "42P01";

const isTableMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === UNDEFINED_TABLE;

/** The address may hold a password: neither it nor the parser's words about it are repeated. */
const checkAddress = (url: string): void => {
  try {
    new Client({ connectionString: url });
  } catch {
    throw new LlmcError(
      "config_invalid",
      "mcp.limits.state_url: this address of a PostgreSQL cannot be used.",
      {
        hint: "Expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with %40 and the like for special characters, and files that exist for sslrootcert, sslcert and sslkey.",
      },
    );
  }
};

const inTime = async <T>(work: Promise<T>, limitMs: number): Promise<T> => {
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

/** Work that many wait for and that is done one time, unless it failed. */
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

/** Rate limits in PostgreSQL, for several machines that serve the same tokens. Rejects where it does not answer. */
export const createPostgresRates = (
  url: string,
  onTrouble: (error: Error) => void,
  answerMs: number = ANSWER_MS,
) => {
  checkAddress(url);
  const pool = new Pool({
    connectionString: url,
    fallback_application_name: "llmc",
    // One stays open: a request seldom waits for a new one.
    min: 1,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    // Of a connection, once it is there. One that failed is closed, and the next decision opens another.
    query_timeout: answerMs * 2,
    keepAlive: true,
  });
  pool.on("error", onTrouble);

  const findTable = once(async (): Promise<string> => {
    const schema: unknown = (await pool.query(SCHEMA)).rows[0]?.schema;
    if (typeof schema !== "string") throw new Error("the role has no schema to use");
    return `${schema}.${NAME}`;
  });
  const run = async (statement: (table: string) => string): Promise<unknown> => {
    const table = await findTable();
    const message = `${bounds(answerMs)}${statement(table)}`;
    try {
      return await pool.query(message);
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await pool.query(`${bounds(CONNECT_MS)}${creation(table)}`);
      return pool.query(message);
    }
  };

  const sweep = (): Promise<unknown> => run(sweeping).catch(onTrouble);
  // At once too: it opens the first connection, and makes the table, before a request waits for them.
  void sweep();
  const timer = setInterval(() => void sweep(), SWEEP_MS).unref();

  return {
    take: async (key: string, limit: Limit) => {
      const answers = await inTime(
        run((table) => decision(table, key, limit)),
        answerMs,
      );
      const said = Array.isArray(answers) ? Number(answers.at(-1)?.rows[0]?.wait_ms) : Number.NaN;
      if (!Number.isFinite(said)) throw new Error("the answer is no number");
      return { allowed: said === 0, retryAfterMs: said };
    },
    close: async (): Promise<void> => {
      clearInterval(timer);
      await pool.end();
    },
  };
};
