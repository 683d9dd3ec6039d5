import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

export interface TestPostgres {
  readonly url: string;
  /** Runs SQL without a connection of its own. */
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** All connections are closed, and new ones refused, until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** It takes five seconds of a processor, which may be shared by many. */
export const PGLITE_START_MS = 120_000;

/** An empty database, which takes four of the five seconds to create. In the package's folder: a new version finds none. */
const EMPTY = join(import.meta.dirname, "../node_modules/@electric-sql/pglite/empty-database.tar.gz");

const readEmpty = (): Blob | undefined => {
  try {
    return new Blob([readFileSync(EMPTY)], { type: "application/x-gzip" });
  } catch {
    return undefined;
  }
};

/** For the next test that needs one; other tests may be doing the same. */
const keepEmpty = async (db: PGlite): Promise<void> => {
  const dump = await db.dumpDataDir("gzip");
  const part = `${EMPTY}.${process.pid}`;
  writeFileSync(part, Buffer.from(await dump.arrayBuffer()));
  renameSync(part, EMPTY);
};

const createDatabase = async (): Promise<PGlite> => {
  const empty = readEmpty();
  if (empty !== undefined) return PGlite.create({ loadDataDir: empty });
  const db = await PGlite.create();
  await keepEmpty(db);
  return db;
};

/** PostgreSQL itself, compiled for this process, behind a socket. Its connections take turns: it has one session. */
export const openPostgres = async (): Promise<TestPostgres> => {
  const db = await createDatabase();
  let port = 0;
  let server: PGLiteSocketServer | undefined;
  const start = async (): Promise<void> => {
    server = new PGLiteSocketServer({ db, host: "127.0.0.1", port, maxConnections: 50 });
    await server.start();
    port = Number(server.getServerConn().split(":").at(-1));
  };
  const stop = async (): Promise<void> => {
    await server?.stop();
    server = undefined;
  };
  await start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    rows: async (sql) => (await db.query<Record<string, unknown>>(sql)).rows,
    stop,
    start,
    close: async () => {
      await stop();
      await db.close();
    },
  };
};
