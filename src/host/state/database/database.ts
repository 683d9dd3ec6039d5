import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { LlmcError } from "../../../base/error.ts";
import { stopIfAborted } from "../../../base/stop-if-aborted.ts";
import {
  type DatabaseKind,
  type DatabaseOptions,
  identityNow,
  MEMORY,
  type OpenDatabase,
  openDatabase,
  pathOf,
  quarantineDatabase,
  unavailable,
  withFolder,
} from "./open-database.ts";
import { diskFailure, isBusy } from "./sqlite-failure.ts";

const PATIENT_WAIT_MS = 10_000;

interface Session {
  readonly kind: DatabaseKind;
  readonly options: DatabaseOptions;
  readonly statements: Map<string, StatementSync>;
  /** Of the file; undefined until a folder for it exists. */
  path: string | undefined;
  open: OpenDatabase | undefined;
  openings: number;
}

const busy = ({ title }: DatabaseKind, cause?: unknown): LlmcError =>
  new LlmcError("busy", `Another process is writing ${title}.`, { hint: "Try again in a moment.", cause });

const explain = (error: unknown, kind: DatabaseKind): unknown => {
  if (error instanceof LlmcError) return error;
  if (isBusy(error)) return busy(kind, error);
  const what = diskFailure(error);
  return what === undefined ? error : unavailable(kind, what, error);
};

const explained = <T>(session: Session, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw explain(error, session.kind);
  }
};

const close = (session: Session): void => {
  const { open } = session;
  session.open = undefined;
  session.statements.clear();
  if (open?.db.isOpen) open.db.close();
};

const identityOnDisk = (session: Session): string | undefined => {
  session.path ??= pathOf(session.options, session.kind);
  return session.path === undefined ? undefined : identityNow(session.path);
};

/** The file may have been removed or replaced: with the old one, this process would lock against nobody. */
const current = (session: Session): OpenDatabase => {
  const { open, options, kind } = session;
  if (open?.db.isTransaction) return open;
  if (open !== undefined && open.identity !== MEMORY && open.identity !== identityOnDisk(session))
    close(session);
  if (session.open === undefined) {
    session.openings++;
    session.open = openDatabase(options, kind);
  }
  return session.open;
};

const sql = (session: Session, text: string): StatementSync => {
  const { db } = session.open ?? current(session);
  const known = session.statements.get(text);
  if (known !== undefined) return known;
  const prepared = db.prepare(text);
  session.statements.set(text, prepared);
  return prepared;
};

const inTransaction = <T>(session: Session, begin: string, work: () => T): T => {
  const { kind, options } = session;
  const { db, identity } = current(session);
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
    if (!kind.isDamage(error)) throw error;
    close(session);
    withFolder(options, kind, (folder) => quarantineDatabase(folder, identity, "damaged", options, kind));
    throw unavailable(kind, "was damaged and has been replaced.", error, true);
  }
};

/** Undefined where another process is writing. */
const tryTransact = <T>(session: Session, work: () => T): { readonly value: T } | undefined => {
  let hasBegun = false;
  const value = (): T => {
    hasBegun = true;
    return work();
  };
  try {
    return { value: inTransaction(session, "BEGIN IMMEDIATE", value) };
  } catch (error) {
    // Work that has begun is never done twice.
    if (!hasBegun && isBusy(error)) return undefined;
    throw explain(error, session.kind);
  }
};

const transact = <T>(session: Session, work: () => T, waitMs: number): T => {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const done = tryTransact(session, work);
    if (done !== undefined) return done.value;
    if (performance.now() >= deadline) throw busy(session.kind);
  }
};

const transactSoon = async <T>(
  session: Session,
  work: () => T,
  signal: AbortSignal | undefined,
): Promise<T> => {
  const deadline = performance.now() + PATIENT_WAIT_MS;
  for (let pauseMs = 2; ; pauseMs = Math.min(50, pauseMs * 1.5)) {
    stopIfAborted(signal);
    const done = tryTransact(session, work);
    if (done !== undefined) return done.value;
    if (performance.now() >= deadline) throw busy(session.kind);
    await sleep(pauseMs);
  }
};

/** A database that is shared by every process that works on the workspace, or by all processes of the user. */
export type Database = ReturnType<typeof createDatabase>;

export const createDatabase = (kind: DatabaseKind, options: DatabaseOptions) => {
  const session: Session = {
    kind,
    options,
    statements: new Map(),
    path: undefined,
    open: undefined,
    openings: 0,
  };
  return {
    /** False until something was stored; reading alone does not create the file. */
    exists: (): boolean => session.open !== undefined || identityOnDisk(session) !== undefined,
    /**
     * Opens the database if necessary. If the value differs from the last one, the database was replaced by an empty one.
     */
    identity: (): string => {
      const { identity } = explained(session, () => current(session));
      return `${session.openings}/${identity}`;
    },
    /** Grows when another process has written. */
    dataVersion: (): number => Number(sql(session, "PRAGMA data_version").get()?.["data_version"]),
    /** The open database; made on first use, and opened again where the file was replaced. */
    db: (): DatabaseSync => explained(session, () => current(session).db),
    /** A statement of the open database, prepared once. Do not keep it: the database may be opened again. */
    sql: (text: string): StatementSync => sql(session, text),
    /** Several reads that see one state. */
    read: <T>(work: () => T): T => explained(session, () => inTransaction(session, "BEGIN", work)),
    /**
     * Runs the work as the only writer of all processes, all or nothing. Blocks the whole thread while it waits, so the
     * work must be short; throws `busy` after `waitMs`. What the work throws comes through.
     */
    transact: <T>(work: () => T, waitMs = kind.waitMs): T => transact(session, work, waitMs),
    /** The same, without blocking the thread while it waits. */
    transactSoon: <T>(work: () => T, signal?: AbortSignal): Promise<T> => transactSoon(session, work, signal),
    /** False where the disk cannot be written and the database lives in memory, for this process alone. */
    isKept: (): boolean => current(session).identity !== MEMORY,
    /** Closes the file; the next use opens it again. */
    close: (): void => close(session),
  };
};
