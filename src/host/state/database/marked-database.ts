import { closeSync, fstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { LlmcError } from "../../../base/error.ts";
import { STATE_DIR } from "../../../policy/paths.ts";
import { ignoringExistence, isStillThere, type OwnFolder } from "../../own-files/own-folder.ts";
import { NEW_FILE } from "../../own-files/replace-file.ts";
import type { SecretKey } from "../../own-files/secret-key.ts";
import { hasForeignFiles, identityIn, identityOf } from "./quarantine.ts";

/** Says that a database is ours: a signature over its kind and its workspace, by a key that no workspace has. */
export const MARK_TABLE =
  "CREATE TABLE llmc_mark (kind TEXT PRIMARY KEY, signature BLOB NOT NULL) STRICT, WITHOUT ROWID";

export interface DatabaseLocation {
  /** Held by the caller while the database is opened. */
  readonly folder: OwnFolder;
  /** In that folder. */
  readonly name: string;
  /** Real path. */
  readonly workspace: string;
  readonly key: SecretKey;
  /** SQLite waits this long for another process. */
  readonly busyMs: number;
}

/** `fresh`: empty, and ours to fill. */
type Verdict = "fresh" | "ours" | "unsigned";

const HOSTILE = {
  allowExtension: false,
  enableDoubleQuotedStringLiterals: false,
  // A schema that somebody made up cannot reach functions with effects, nor be rewritten as data.
  defensive: true,
} as const;

// Nothing in a schema of ours is larger; a made-up one is refused instead of read to its end.
const SMALL = { length: 1_000_000, sqlLength: 100_000 } as const;

const signedParts = ({ name, workspace }: DatabaseLocation): readonly string[] => [
  "database",
  name,
  workspace,
];

/** Several reads of one state: between two of them, another process may commit the tables and the mark. */
const inOneState = <T>(db: DatabaseSync, read: () => T): T => {
  if (db.isTransaction) return read();
  db.exec("BEGIN");
  try {
    return read();
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
};

/** Determines who created an open database, by reading only the mark. */
export const judgeDatabase = (db: DatabaseSync, location: DatabaseLocation): Verdict =>
  inOneState(db, () => readVerdict(db, location));

const readVerdict = (db: DatabaseSync, location: DatabaseLocation): Verdict => {
  const one = (sql: string, ...values: string[]) => db.prepare(sql).get(...values);
  const mark = one("SELECT type, sql FROM sqlite_schema WHERE name = 'llmc_mark'");
  if (mark === undefined) {
    const hasContent =
      Number(one("PRAGMA user_version")?.["user_version"]) !== 0 ||
      one("SELECT 1 FROM sqlite_schema") !== undefined;
    return hasContent ? "unsigned" : "fresh";
  }
  // A view or a virtual table of that name would run what somebody else wrote.
  if (mark["type"] !== "table" || mark["sql"] !== MARK_TABLE) return "unsigned";
  const found = one("SELECT signature FROM llmc_mark WHERE kind = ?", location.name)?.["signature"];
  return found instanceof Uint8Array && location.key.isSigned(found, ...signedParts(location))
    ? "ours"
    : "unsigned";
};

/** To be called in the transaction that makes the tables. */
export const writeMark = (db: DatabaseSync, location: DatabaseLocation): void => {
  db.prepare("INSERT INTO llmc_mark VALUES (?, ?)").run(
    location.name,
    location.key.sign(...signedParts(location)),
  );
};

/** Never opens an existing file, because closing it would drop the locks that SQLite holds on it in this process. */
const createFile = ({ folder, name }: DatabaseLocation): void => {
  if (identityIn(folder, name) !== undefined) return;
  ignoringExistence(() => closeSync(openSync(`${folder.at}/${name}`, NEW_FILE, 0o600)));
};

/** SQLite looks a name up by itself, and would follow it to another folder; it never makes the file. */
const connect = (location: DatabaseLocation, mode: "ro" | "rw"): DatabaseSync => {
  const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(join(location.folder.path, location.name));
  url.searchParams.set("mode", mode);
  const limits = mode === "ro" ? { readOnly: true, limits: SMALL } : {};
  const db = new Database(url, { ...HOSTILE, ...limits, timeout: location.busyMs });
  try {
    db.exec(
      `PRAGMA busy_timeout = ${location.busyMs}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON`,
    );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

/** Regular files that this process has open, by descriptor; undefined where the system does not tell. */
const openFiles = (): ReadonlyMap<string, string> | undefined => {
  const found = new Map<string, string>();
  let names: readonly string[];
  try {
    names = readdirSync("/proc/self/fd");
  } catch {
    return undefined;
  }
  for (const name of names) {
    try {
      const stats = fstatSync(Number(name), { bigint: true });
      if (stats.isFile()) found.set(name, identityOf(stats));
    } catch {
      // Closed meanwhile: it was the listing's own, or another thread's.
    }
  }
  return found;
};

/** SQLite may also go on with a descriptor of that file that an earlier connection left open. */
const hasOpened = (
  identity: string,
  before: ReadonlyMap<string, string> | undefined,
  after: ReadonlyMap<string, string> | undefined,
): boolean => {
  if (before === undefined || after === undefined) return true;
  const added = [...after].filter(([fd, file]) => before.get(fd) !== file);
  return added.length === 0
    ? [...after.values()].includes(identity)
    : added.some(([, file]) => file === identity);
};

const swapped = (name: string): LlmcError =>
  new LlmcError("unavailable", `${STATE_DIR}/${name} was replaced while it was opened.`, {
    hint: "Another process changes llmc's own folder. Try again.",
    retryable: true,
  });

export interface OpenedDatabase {
  readonly db: DatabaseSync;
  readonly identity: string;
}

/** Reads the mark through a connection that cannot write, so that a database of somebody else's stays as it is. */
const inspect = (location: DatabaseLocation): Verdict => {
  const db = connect(location, "ro");
  try {
    return judgeDatabase(db, location);
  } finally {
    db.close();
  }
};

/**
 * Opens a database of ours in the held folder, made where it is missing. What SQLite opened is compared with what lies
 * in the folder, before and after. Gives `unsigned` where the file is not ours: nothing of it was used.
 */
export const openMarkedDatabase = (location: DatabaseLocation): OpenedDatabase | "unsigned" => {
  const { folder, name } = location;
  createFile(location);
  const identity = identityIn(folder, name);
  if (identity === undefined || hasForeignFiles(folder, name) || !isStillThere(folder)) throw swapped(name);
  if (inspect(location) === "unsigned") return "unsigned";
  const before = openFiles();
  const db = connect(location, "rw");
  try {
    const isTheSame =
      hasOpened(identity, before, openFiles()) &&
      identityIn(folder, name) === identity &&
      !hasForeignFiles(folder, name) &&
      isStillThere(folder);
    if (!isTheSame) throw swapped(name);
    if (judgeDatabase(db, location) === "unsigned") throw swapped(name);
    return { db, identity };
  } catch (error) {
    db.close();
    throw error;
  }
};
