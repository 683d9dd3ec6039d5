import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { LlmcError } from "../../../base/error.ts";
import { STATE_DIR } from "../../../policy/paths.ts";
import { ignoringExistence, isStillThere, type OwnFolder } from "../../own-files/own-folder.ts";
import { NEW_FILE } from "../../own-files/replace-file.ts";
import { hasForeignFiles, identityIn } from "./quarantine.ts";

const HARDENED = {
  allowExtension: false,
  enableDoubleQuotedStringLiterals: false,
  defensive: true,
} as const;

/** Never opens an existing file, because closing it would drop the locks that SQLite holds on it in this process. */
const createFile = (folder: OwnFolder, name: string): void => {
  if (identityIn(folder, name) !== undefined) return;
  ignoringExistence(() => closeSync(openSync(`${folder.at}/${name}`, NEW_FILE, 0o600)));
};

const open = (folder: OwnFolder, name: string, busyMs: number): DatabaseSync => {
  const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
  const url = pathToFileURL(join(folder.path, name));
  // SQLite looks the name up by itself, and never makes the file.
  url.searchParams.set("mode", "rw");
  const db = new Database(url, { ...HARDENED, timeout: busyMs });
  try {
    db.exec(`PRAGMA busy_timeout = ${busyMs}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const swapped = (name: string): LlmcError =>
  new LlmcError("unavailable", `${name} in ${STATE_DIR} was replaced while it was opened.`, {
    hint: "Another process changes llmc's own folder. Try again.",
    retryable: true,
  });

export interface OpenedDatabase {
  readonly db: DatabaseSync;
  readonly identity: string;
}

/**
 * Opens a database in the held folder, made where it is missing. What SQLite found by name is compared with what lies
 * in the folder, before and after.
 */
export const connect = (folder: OwnFolder, name: string, busyMs: number): OpenedDatabase => {
  createFile(folder, name);
  const identity = identityIn(folder, name);
  const isOurs = (): boolean =>
    identity !== undefined &&
    identityIn(folder, name) === identity &&
    !hasForeignFiles(folder, name) &&
    isStillThere(folder);
  if (identity === undefined || !isOurs()) throw swapped(name);
  const db = open(folder, name, busyMs);
  if (isOurs()) return { db, identity };
  db.close();
  throw swapped(name);
};
