import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import { STATE_DIR } from "../../../policy/paths.ts";
import { fileIdentity } from "../../os/file-identity.ts";
import { withFolderLock } from "../../own-files/folder-lock.ts";
import { type DatabasePlace, openMarkedDatabase } from "../../own-files/marked-database.ts";
import type { OwnFolder } from "../../own-files/own-folder.ts";
import { openSecretKey } from "../../own-files/secret-key.ts";
import { identityIn, setAside, setStrangersAside } from "../../own-files/set-aside.ts";
import { withStateFolder } from "../../own-files/state-folder.ts";
import { prepareState } from "../state-schema.ts";
import { diskFailure, isBusy, isDamaged, resultCode } from "./sqlite-failure.ts";

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
  /** The user's own folder for state, which holds the key that databases are signed with. */
  readonly userState: string;
  readonly onWarning: (message: string) => void;
}

const NAME = "state.db";

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

interface Connection {
  readonly db: DatabaseSync;
  readonly identity: string;
  readonly statements: Map<string, StatementSync>;
}

export const createStateDb = ({ workspace, userState, onWarning }: StateDbOptions): StateDb => {
  const path = join(workspace, STATE_DIR, NAME);
  let connection: Connection | undefined;

  const identityNow = (): string | undefined => fileIdentity(path);

  const close = (): void => {
    const { db } = connection ?? {};
    connection = undefined;
    if (db?.isOpen) db.close();
  };

  const moveAside = (folder: OwnFolder, seen: string | undefined, why: "corrupt" | "unsigned"): void => {
    close();
    const aside = withFolderLock(folder, () =>
      // Another process may have mended it already.
      seen === undefined || identityIn(folder, NAME) !== seen ? undefined : setAside(folder, NAME, why),
    );
    if (aside === undefined) return;
    const what = why === "corrupt" ? "was damaged" : "was not made by this user's llmc for this workspace";
    onWarning(`the state database ${what}; it was moved to ${STATE_DIR}/${aside} and a new one was made`);
  };

  const tryOpen = (place: DatabasePlace): Connection | undefined => {
    const { folder } = place;
    // Taken before opening: a file that is swapped in between is then seen as replaced, and opened again.
    const seen = identityIn(folder, NAME);
    try {
      const opened = openMarkedDatabase(place);
      if (opened !== "unsigned") {
        prepareState(opened.db, place);
        return { db: opened.db, identity: opened.identity, statements: new Map() };
      }
      moveAside(folder, seen, "unsigned");
    } catch (error) {
      if (!isDamaged(error)) throw error;
      moveAside(folder, seen, "corrupt");
    }
    return undefined;
  };

  const openOnce = (): Connection => {
    const key = openSecretKey(userState);
    return withStateFolder(workspace, (folder) => {
      for (const aside of setStrangersAside(folder, NAME))
        onWarning(
          `in the place of the state database was something else; it was moved to ${STATE_DIR}/${aside}`,
        );
      const place = { folder, name: NAME, workspace, key, busyMs: BUSY_TIMEOUT_MS };
      const opened = tryOpen(place) ?? tryOpen(place);
      if (opened === undefined) throw unavailable("keeps being replaced.", undefined, true);
      return opened;
    });
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
      withStateFolder(workspace, (folder) => moveAside(folder, identity, "corrupt"));
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
