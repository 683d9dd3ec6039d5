import { closeSync, lstatSync, mkdirSync, openSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../base/error.ts";
import { STATE_DIR } from "../policy/paths.ts";
import { fileIdentity } from "./file-identity.ts";
import { HANDLE_PRINCIPALS, HANDLE_TABLES } from "./handles/schema.ts";
import { LOCK_TABLES } from "./locks/schema.ts";
import { damage, diskFailure, isBusy, isDamaged, resultCode } from "./sqlite-failure.ts";
import { stopIfAborted } from "./stop-if-aborted.ts";
import { USAGE_OWNERS, USAGE_TABLES } from "./usage/schema.ts";

/** The program's own memory in `.llmc/state.db`, shared by every process that works on the workspace. */
export interface StateDb {
  /** False until something was kept: looking alone makes no database. */
  exists(): boolean;
  /** The open database; made on first use, and opened again where the file was replaced. */
  db(): DatabaseSync;
  /** A statement of the open database, prepared once. Not to be kept: the database may be opened again. */
  sql(text: string): StatementSync;
  /** Several reads that see one state. */
  read<T>(work: () => T): T;
  /**
   * Runs the work as the only writer of all processes, all or nothing. Waits up to `waitMs` with the whole process, so
   * the work must be short; then throws `busy`. What the work throws comes through.
   */
  transact<T>(work: () => T, waitMs?: number): T;
  /** The same, waiting without blocking the process. */
  transactSoon<T>(work: () => T, signal?: AbortSignal): Promise<T>;
  /** Lets go of the file; the next use opens it again. */
  close(): void;
}

export interface StateDbOptions {
  /** Real path. */
  readonly workspace: string;
  readonly onWarning: (message: string) => void;
}

/** Each brings the database from its index to the next version; those that were released never change. */
const MIGRATIONS = [`${LOCK_TABLES} ${HANDLE_TABLES}`, USAGE_TABLES, `${HANDLE_PRINCIPALS} ${USAGE_OWNERS}`];
const TABLES = ["leases", "fences", "blobs", "chunks", "handles", "te_calls", "te_sessions"];

// SQLite waits this long by itself, with the process; longer waits are ours.
const BUSY_TIMEOUT_MS = 20;
const OPEN_WAIT_MS = 500;
const DEFAULT_WAIT_MS = 2000;
const PATIENT_WAIT_MS = 10_000;

const unavailable = (what: string, cause: unknown, retryable = false): LlmcError =>
  new LlmcError("unavailable", `llmc's state in ${STATE_DIR}/state.db ${what}`, {
    hint: retryable
      ? "Try again."
      : `Locks and handles are kept there: the workspace's ${STATE_DIR} folder must be writable.`,
    retryable,
    cause,
  });

const taken = (cause: unknown): LlmcError =>
  new LlmcError("busy", "Another process is writing llmc's state.", {
    hint: "Try again in a moment.",
    cause,
  });

const explain = (error: unknown): unknown => {
  if (isBusy(error)) return taken(error);
  const what = diskFailure(error);
  return what === undefined ? error : unavailable(what, error);
};

const explained = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw explain(error);
  }
};

const blockFor = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};

/** Never opens a file that is there: closing it again would drop the locks that SQLite holds on it in this process. */
const createFile = (dir: string, path: string): void => {
  try {
    mkdirSync(dir, { mode: 0o700 });
    // Whoever works in a repository does not find our state among their own changes.
    writeFileSync(join(dir, ".gitignore"), "*\n", { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    try {
      closeSync(openSync(path, "wx", 0o600));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  } else if (!found.isFile()) throw new LlmcError("unavailable", `${STATE_DIR}/state.db is not a file.`);
};

const versionOf = (db: DatabaseSync): number =>
  Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);

const migrate = (db: DatabaseSync): void => {
  if (versionOf(db) < MIGRATIONS.length) {
    db.exec("BEGIN IMMEDIATE");
    try {
      // Read again: another process, even of a newer llmc, may have done it meanwhile.
      const version = versionOf(db);
      for (const step of MIGRATIONS.slice(version)) db.exec(step);
      if (version < MIGRATIONS.length) db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
      db.exec("COMMIT");
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }
  if (versionOf(db) > MIGRATIONS.length) {
    throw new LlmcError("unavailable", `${STATE_DIR}/state.db was made by a newer llmc.`, {
      hint: "Update this one, or remove the file: handles are then lost.",
    });
  }
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (!TABLES.every((table) => names.some(({ name }) => name === table))) throw damage("tables are missing");
};

const openFile = (path: string): DatabaseSync => {
  // Loaded here and not above: a server that keeps nothing does not pay for it.
  const sqlite = process.getBuiltinModule("node:sqlite");
  const db = new sqlite.DatabaseSync(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    // Counts only before the first write, and waits for other writers after it. The file shrinks when handles go.
    if (versionOf(db) === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;
       PRAGMA journal_size_limit = 8388608`,
    );
    migrate(db);
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

export const createStateDb = ({ workspace, onWarning }: StateDbOptions): StateDb => {
  const dir = join(workspace, STATE_DIR);
  const path = join(dir, "state.db");
  let connection: Connection | undefined;

  const identityNow = (): string | undefined => fileIdentity(path);

  const close = (): void => {
    const { db } = connection ?? {};
    connection = undefined;
    if (db?.isOpen) db.close();
  };

  const moveAside = (seen: string | undefined): void => {
    close();
    // Another process may have mended it already.
    if (seen === undefined || identityNow() !== seen) return;
    const aside = `${path}.corrupt-${new Date().toISOString().replaceAll(":", "")}`;
    // The log goes first: left behind, it would be taken for the new database's.
    for (const suffix of ["-wal", "-shm", ""]) {
      try {
        renameSync(`${path}${suffix}`, `${aside}${suffix}`);
      } catch (error) {
        if (suffix === "" && identityNow() === seen) throw error;
      }
    }
    onWarning(`the state database was damaged; it was moved to ${aside} and a new one was made`);
  };

  const openOnce = (): Connection => {
    createFile(dir, path);
    // Taken before opening: a file that is swapped in between is then seen as replaced, and opened again.
    const identity = identityNow();
    try {
      return { db: openFile(path), identity: identity ?? "", statements: new Map() };
    } catch (error) {
      if (!isDamaged(error)) throw error;
      moveAside(identity);
      createFile(dir, path);
      return { identity: identityNow() ?? "", db: openFile(path), statements: new Map() };
    }
  };

  const open = (): Connection => {
    // Several processes may be making it at once, and the switch to WAL does not wait by itself.
    const deadline = performance.now() + OPEN_WAIT_MS;
    for (;;) {
      try {
        return openOnce();
      } catch (error) {
        if (error instanceof LlmcError) throw error;
        if (resultCode(error) === 0) throw unavailable("cannot be made.", error);
        if (!isBusy(error) || performance.now() > deadline) throw error;
        blockFor(2 + Math.random() * 10);
      }
    }
  };

  /** Somebody may have removed or replaced the file: to go on with the old one would be to lock against nobody. */
  const current = (): Connection => {
    if (connection?.db.isTransaction) return connection;
    if (connection !== undefined && connection.identity !== identityNow()) close();
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

  const run = <T>(begin: string, work: () => T): T => {
    const { db, identity } = current();
    try {
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
      if (!isDamaged(error)) throw error;
      moveAside(identity);
      throw unavailable("was damaged and has been replaced.", error, true);
    }
  };

  /** Undefined where another process is writing. */
  const tryTransact = <T>(work: () => T): { readonly value: T } | undefined => {
    let hasBegun = false;
    const value = (): T => {
      hasBegun = true;
      return work();
    };
    try {
      return { value: run("BEGIN IMMEDIATE", value) };
    } catch (error) {
      // Work that has begun is never done twice.
      if (!hasBegun && isBusy(error)) return undefined;
      throw explain(error);
    }
  };

  return {
    exists: () => connection !== undefined || identityNow() !== undefined,
    db: () => explained(() => current().db),
    sql,
    read: (work) => explained(() => run("BEGIN", work)),
    transact: (work, waitMs = DEFAULT_WAIT_MS) => {
      const deadline = performance.now() + waitMs;
      for (;;) {
        const done = tryTransact(work);
        if (done !== undefined) return done.value;
        if (performance.now() >= deadline) throw taken(undefined);
      }
    },
    transactSoon: async (work, signal) => {
      const deadline = performance.now() + PATIENT_WAIT_MS;
      for (let pauseMs = 2; ; pauseMs = Math.min(50, pauseMs * 1.5)) {
        stopIfAborted(signal);
        const done = tryTransact(work);
        if (done !== undefined) return done.value;
        if (performance.now() >= deadline) throw taken(undefined);
        await sleep(pauseMs);
      }
    },
    close,
  };
};
