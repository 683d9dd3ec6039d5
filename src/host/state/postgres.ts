import { setTimeout as sleep } from "node:timers/promises";
import { Client, Pool, type PoolClient } from "pg";
import { LlmcError } from "../../base/error.ts";

export type PostgresRow = Readonly<Record<string, unknown>>;
export type PostgresQuery = (text: string, values: readonly unknown[]) => Promise<readonly PostgresRow[]>;

const CONNECT_MS = 5000;
const STATEMENT_MS = 60_000;
const MAX_CONNECTIONS = 10;
const IDLE_MS = 60_000;

/** Two transactions that cannot both be as if alone: one of them is done again. */
const RETRIED: ReadonlySet<unknown> = new Set(["40001", "40P01"]);
const MAX_ATTEMPTS = 30;
/** The most that one waits before it tries again; at first a few milliseconds, doubled each time. */
const MAX_DELAY_MS = 250;

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The URL may hold a password, so neither it nor the parser's message is repeated. */
const checkUrl = (url: string, key: string): void => {
  try {
    new Client({ connectionString: url });
  } catch {
    throw new LlmcError("config_invalid", `${key}: the PostgreSQL URL in that variable cannot be used.`, {
      hint: "Expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded.",
    });
  }
};

const explain = (error: unknown): unknown => {
  if (error instanceof LlmcError) return error;
  const code = codeOf(error);
  // Errors of statements are ours; those of the connection and of the server's state are not.
  if (typeof code === "string" && /^(?:22|23|42)/.test(code)) return error;
  return new LlmcError("unavailable", "The PostgreSQL server of the knowledge bases does not answer.", {
    hint: "Check the URL in the variable that mcp.kb.store_url_env names, and that the server runs.",
    retryable: true,
    cause: error,
  });
};

export interface PostgresOptions {
  readonly url: string;
  /** The key of the configuration that names it, for messages. */
  readonly key: string;
  readonly onError: (error: Error) => void;
}

/** A pool of connections, on which work runs as one transaction. */
export const openPostgres = ({ url, key, onError }: PostgresOptions) => {
  checkUrl(url, key);
  const pool = new Pool({
    connectionString: url,
    fallback_application_name: "llmc",
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
  });
  pool.on("error", onError);

  const attempt = async <T>(
    client: PoolClient,
    begin: string,
    work: (query: PostgresQuery) => Promise<T>,
  ) => {
    await client.query(begin);
    try {
      const value = await work(async (text, values) => (await client.query(text, [...values])).rows);
      await client.query("COMMIT");
      return value;
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    }
  };
  const run = async <T>(begin: string, work: (query: PostgresQuery) => Promise<T>): Promise<T> => {
    for (let tried = 1; ; tried++) {
      let client: PoolClient | undefined;
      let failed = false;
      try {
        client = await pool.connect();
        return await attempt(client, begin, work);
      } catch (error) {
        failed = codeOf(error) === undefined && !(error instanceof LlmcError);
        if (!RETRIED.has(codeOf(error)) || tried === MAX_ATTEMPTS) throw explain(error);
      } finally {
        // A connection that broke off is not used again.
        client?.release(failed);
      }
      await sleep(Math.random() * Math.min(MAX_DELAY_MS, 2 ** (tried + 1)));
    }
  };
  return {
    /** Statements without values, such as those that make tables. */
    define: (text: string): Promise<void> =>
      run("BEGIN", async (query) => {
        // "IF NOT EXISTS" fails when two servers make the table at the same time.
        await query(`SELECT pg_advisory_xact_lock(${0x6b62})`, []);
        await query(text, []);
      }),
    read: <T>(work: (query: PostgresQuery) => Promise<T>): Promise<T> =>
      run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work),
    write: <T>(work: (query: PostgresQuery) => Promise<T>): Promise<T> =>
      run("BEGIN ISOLATION LEVEL SERIALIZABLE", work),
    close: (): Promise<void> => pool.end(),
  };
};
