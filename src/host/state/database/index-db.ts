import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LlmcError } from "../../../base/error.ts";
import { STATE_DIR } from "../../../policy/paths.ts";
import { fileIdentity } from "../../os/file-identity.ts";
import { withFolderLock } from "../../own-files/folder-lock.ts";
import {
  type DatabasePlace,
  judgeDatabase,
  MARK_TABLE,
  openMarkedDatabase,
  writeMark,
} from "../../own-files/marked-database.ts";
import type { OwnFolder } from "../../own-files/own-folder.ts";
import { openSecretKey } from "../../own-files/secret-key.ts";
import { identityIn, setAside, setStrangersAside } from "../../own-files/set-aside.ts";
import { withStateFolder } from "../../own-files/state-folder.ts";
import { explainDiskFailure, isDamage, isUnwritable, unavailableIndex } from "./index-db-failure.ts";
import { damage, isBusy } from "./sqlite-failure.ts";

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
  /** The user's own folder for state, which holds the key that databases are signed with. */
  readonly userState: string;
  /** Statements that make the tables. */
  readonly tables: string;
  /** Of the tables: a database of another version is begun anew. */
  readonly version: number;
  readonly onWarning: (message: string) => void;
}

// Writers hold the lock for milliseconds; a thread of its own waits here, so a long wait blocks nobody else.
const BUSY_TIMEOUT_MS = 5000;
const CACHE_KIB = 16 * 1024;
const MAX_ATTEMPTS = 4;

const NAME = "index.db";
const MEMORY = ":memory:";

const versionOf = (db: DatabaseSync): number =>
  Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);

const fill = (
  db: DatabaseSync,
  { tables, version }: IndexDbOptions,
  place: DatabasePlace | undefined,
): void => {
  db.exec("BEGIN IMMEDIATE");
  // Looked at again: another process may have filled it meanwhile.
  if (versionOf(db) === 0) {
    db.exec(tables);
    if (place !== undefined) {
      db.exec(MARK_TABLE);
      writeMark(db, place);
    }
    db.exec(`PRAGMA user_version = ${version}`);
  }
  if (place !== undefined && judgeDatabase(db, place) !== "ours") throw damage("it has no valid mark");
  db.exec("COMMIT");
};

/** Makes an open database ready for use; closes it where that fails. */
const prepare = (db: DatabaseSync, options: IndexDbOptions, place?: DatabasePlace): DatabaseSync => {
  try {
    // A commit that a power cut takes back is made again by the next scan, so nothing waits for the disk.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF;
       PRAGMA journal_size_limit = 8388608; PRAGMA cache_size = -${CACHE_KIB}`,
    );
    if (versionOf(db) === 0) fill(db, options, place);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const openInMemory = (options: IndexDbOptions): DatabaseSync => {
  const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
  return prepare(new Database(MEMORY), options);
};

interface Connection {
  readonly db: DatabaseSync;
  readonly identity: string;
  readonly statements: Map<string, StatementSync>;
}

export const createIndexDb = (options: IndexDbOptions): IndexDb => {
  const { workspace, userState, onWarning } = options;
  const path = join(workspace, STATE_DIR, NAME);
  let connection: Connection | undefined;
  let openings = 0;

  const identityNow = (): string | undefined => fileIdentity(path);

  const close = (): void => {
    const { db } = connection ?? {};
    connection = undefined;
    if (db?.isOpen) db.close();
  };

  /** One damaged file is kept for whoever wants to look at it; an index is large. */
  const putAside = (folder: OwnFolder, seen: string | undefined, why: string): void => {
    close();
    const isMoved = withFolderLock(folder, () => {
      // Another process may have mended it already.
      if (seen === undefined || identityIn(folder, NAME) !== seen) return false;
      const file = `${folder.at}/${NAME}`;
      try {
        for (const suffix of ["-wal", "-shm", "-journal"]) rmSync(`${file}${suffix}`, { force: true });
        renameSync(file, `${file}.old`);
      } catch {
        // Something else has that name.
        setAside(folder, NAME, "corrupt");
      }
      return true;
    });
    if (isMoved) onWarning(`the search index ${why}; it is made anew`);
  };

  /** Undefined where the file was put aside. */
  const tryOpen = (place: DatabasePlace): Connection | undefined => {
    const { folder } = place;
    // Taken before opening: a file that is swapped in between is then seen as replaced, and opened again.
    const seen = identityIn(folder, NAME);
    try {
      const opened = openMarkedDatabase(place);
      if (opened === "unsigned") {
        putAside(folder, seen, "was not made by this user's llmc for this workspace");
        return undefined;
      }
      const db = prepare(opened.db, options, place);
      if (versionOf(db) === options.version) return { db, identity: opened.identity, statements: new Map() };
      db.close();
      putAside(folder, opened.identity, "was made by another version");
    } catch (error) {
      if (!isDamage(error)) throw error;
      putAside(folder, seen, "was damaged");
    }
    return undefined;
  };

  const openKept = (): Connection => {
    const key = openSecretKey(userState);
    return withStateFolder(workspace, (folder) => {
      if (setStrangersAside(folder, NAME).length > 0)
        onWarning("in the place of the search index was something else; it was moved aside");
      const place = { folder, name: NAME, workspace, key, busyMs: BUSY_TIMEOUT_MS };
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const opened = tryOpen(place);
        if (opened !== undefined) return opened;
      }
      throw unavailableIndex("keeps being replaced by another process.", undefined);
    });
  };

  const open = (): Connection => {
    openings++;
    try {
      return openKept();
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      const why = error instanceof LlmcError ? ` (${error.message})` : "";
      onWarning(`the search index cannot be written to the disk${why}; it is kept in memory`);
      return { db: openInMemory(options), identity: MEMORY, statements: new Map() };
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
      const seen = identity;
      withStateFolder(workspace, (folder) => putAside(folder, seen, "was damaged"));
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
