import { closeSync, lstatSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LlmcError } from "../base/error.ts";
import { STATE_DIR } from "../policy/paths.ts";
import { fileIdentity } from "./file-identity.ts";
import { explainDiskFailure, isDamage, isUnwritable, unavailableIndex } from "./index-db-failure.ts";
import { isBusy } from "./sqlite-failure.ts";

/**
 * The search index in `.llmc/index.db`, shared by every process that works on the workspace. Everything in it can be made
 * again from the files, so what is damaged, or was made by another version, is put aside and begun anew.
 */
export interface IndexDb {
  /** Opens it where that is needed; another value than before means another, empty database. */
  identity(): string;
  /** Grows when another process has written. */
  dataVersion(): number;
  /** A statement of the open database, prepared once. Not to be kept. */
  sql(text: string): StatementSync;
  /** Several reads that see one state. */
  read<T>(work: () => T): T;
  /** Runs the work as the only writer, all or nothing. Waits with the whole thread, then throws `busy`. */
  transact<T>(work: () => T): T;
  /** False where the disk cannot be written: the index then lives in memory, for this process alone. */
  isKept(): boolean;
  close(): void;
}

export interface IndexDbOptions {
  /** Real path. */
  readonly workspace: string;
  /** Statements that make the tables. */
  readonly tables: string;
  /** Of the tables: a database of another version is begun anew. */
  readonly version: number;
  readonly onWarning: (message: string) => void;
}

// Writers hold the lock for milliseconds; a thread of its own waits here, so a long wait blocks nobody else.
const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 16 * 1024;

const MEMORY = ":memory:";

const versionOf = (db: DatabaseSync): number =>
  Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);

/** Never opens a file that is there: closing it again would drop the locks that SQLite holds on it in this process. */
const createFile = (dir: string, path: string): void => {
  const ignoringExistence = (make: () => void): void => {
    try {
      make();
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  };
  ignoringExistence(() => mkdirSync(dir, { mode: 0o700 }));
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) ignoringExistence(() => closeSync(openSync(path, "wx", 0o600)));
  else if (!found.isFile()) throw new LlmcError("unavailable", `${STATE_DIR}/index.db is not a file.`);
};

const openAt = (path: string, { tables, version }: IndexDbOptions): DatabaseSync => {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const db = new sqlite.DatabaseSync(path);
  try {
    // A commit that a power cut takes back is made again by the next scan, so nothing waits for the disk.
    db.exec(
      `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
       PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 8388608; PRAGMA cache_size = -${CACHE_KIB}`,
    );
    if (versionOf(db) === 0) {
      db.exec("BEGIN IMMEDIATE");
      if (versionOf(db) === 0) db.exec(`${tables}; PRAGMA user_version = ${version}`);
      db.exec("COMMIT");
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

interface Connection {
  readonly db: DatabaseSync;
  readonly identity: string;
  readonly statements: Map<string, StatementSync>;
}

export const createIndexDb = (options: IndexDbOptions): IndexDb => {
  const dir = join(options.workspace, STATE_DIR);
  const path = join(dir, "index.db");
  let connection: Connection | undefined;
  let openings = 0;

  const identityNow = (): string | undefined => fileIdentity(path);

  const close = (): void => {
    const { db } = connection ?? {};
    connection = undefined;
    if (db?.isOpen) db.close();
  };

  /** One damaged file is kept for whoever wants to look at it; an index is large. */
  const putAside = (seen: string | undefined, why: string): void => {
    close();
    // Another process may have mended it already.
    if (seen === undefined || identityNow() !== seen) return;
    for (const suffix of ["-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    renameSync(path, `${path}.old`);
    options.onWarning(`the search index ${why}; it is made anew`);
  };

  const openKept = (): Connection => {
    for (let attempt = 0; ; attempt++) {
      createFile(dir, path);
      // Taken before opening: a file that is swapped in between is then seen as replaced, and opened again.
      const identity = identityNow() ?? "";
      try {
        const db = openAt(path, options);
        if (versionOf(db) === options.version) return { db, identity, statements: new Map() };
        db.close();
        if (attempt > 2)
          throw unavailableIndex("keeps being replaced by another version of llmc.", undefined);
        putAside(identity, "was made by another version");
      } catch (error) {
        if (!isDamage(error) || attempt > 2) throw error;
        putAside(identity, "was damaged");
      }
    }
  };

  const open = (): Connection => {
    openings++;
    try {
      return openKept();
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      options.onWarning("the search index cannot be written to the disk; it is kept in memory");
      return { db: openAt(MEMORY, options), identity: MEMORY, statements: new Map() };
    }
  };

  const current = (): Connection => {
    if (connection?.db.isTransaction) return connection;
    if (connection !== undefined && connection.identity !== MEMORY && connection.identity !== identityNow())
      close();
    connection ??= open();
    return connection;
  };

  const sql = (text: string): StatementSync => {
    const { db, statements } = connection ?? current();
    const known = statements.get(text);
    if (known !== undefined) return known;
    const made = db.prepare(text);
    statements.set(text, made);
    return made;
  };

  const explain = (error: unknown): unknown =>
    isBusy(error)
      ? new LlmcError("busy", "Another process is writing the search index.", {
          hint: "Try again in a moment.",
          cause: error,
        })
      : error instanceof LlmcError
        ? error
        : (explainDiskFailure(error) ?? error);

  const run = <T>(begin: string, work: () => T): T => {
    let identity: string | undefined;
    try {
      const { db, ...now } = current();
      identity = now.identity;
      db.exec(begin);
      try {
        const result = work();
        db.exec("COMMIT");
        return result;
      } catch (error) {
        if (db.isTransaction) db.exec("ROLLBACK");
        throw error;
      }
    } catch (error) {
      if (!isDamage(error)) throw explain(error);
      putAside(identity, "was damaged");
      throw unavailableIndex("was damaged and is made anew.", error, true);
    }
  };

  return {
    identity: () => {
      const { identity } = current();
      return `${openings}/${identity}`;
    },
    dataVersion: () => Number(sql("PRAGMA data_version").get()?.["data_version"]),
    sql,
    read: (work) => run("BEGIN", work),
    transact: (work) => run("BEGIN IMMEDIATE", work),
    isKept: () => current().identity !== MEMORY,
    close,
  };
};
