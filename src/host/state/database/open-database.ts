import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { LlmcError } from "../../../base/error.ts";
import { STATE_DIR } from "../../../policy/paths.ts";
import type { OwnFolder } from "../../own-files/own-folder.ts";
import { openSecretKey, openUserState } from "../../own-files/secret-key.ts";
import { type StateLocation, stateFolderPath, withStateFolder } from "../../own-files/state-folder.ts";
import { connect } from "./connect.ts";
import { blockFor, withFolderLock } from "./folder-lock.ts";
import { identityIn, identityOf, quarantine, quarantineForeign, replaceQuarantined } from "./quarantine.ts";
import { type DatabaseSchema, prepareDatabase } from "./schema.ts";
import { isTransient, isUnwritable, resultCode } from "./sqlite-failure.ts";

export interface DatabaseOptions {
  /** Real path. */
  readonly workspace: string;
  /** The user's own folder for state, which holds the key that names the folder of our databases. */
  readonly userState: string;
  /** Where the folder of the database lies, unless that is the workspace's `.llmc`: an absolute path. */
  readonly folder?: string | undefined;
  readonly onWarning: (message: string) => void;
}

/** How one kind of database differs from another. */
export interface DatabaseKind {
  /** Of the file. */
  readonly name: string;
  /** For messages, such as "the search index". */
  readonly title: string;
  readonly schema: DatabaseSchema;
  /** SQLite itself waits this long for another process, and blocks the thread. */
  readonly busyMs: number;
  /** How long `transact` goes on trying. */
  readonly waitMs: number;
  /** How many databases that were damaged or replaced are kept. */
  readonly keepsQuarantined: "all" | "last";
  /** Whether it lives in memory where the disk cannot be written; otherwise that is an error. */
  readonly hasMemoryFallback: boolean;
  readonly isDamage: (error: unknown) => boolean;
  /** In the workspace's own folder, or in the user's state folder, which all of the user's workspaces share. */
  readonly home: "workspace" | "user";
}

export interface OpenDatabase {
  readonly db: DatabaseSync;
  /** Of the file, or `MEMORY`. */
  readonly identity: string;
}

export const MEMORY = ":memory:";

const OPEN_WAIT_MS = 2000;
const MAX_ATTEMPTS = 4;

export const unavailable = (
  kind: DatabaseKind,
  what: string,
  cause: unknown,
  retryable = false,
): LlmcError => {
  const folder =
    kind.home === "workspace" ? `The workspace's ${STATE_DIR} folder` : "The user's state folder";
  return new LlmcError("unavailable", `${kind.title.replace(/^t/, "T")} in ${folderOf(kind)} ${what}`, {
    hint: retryable ? "Try again." : `${folder} must be writable.`,
    retryable,
    cause,
  });
};

const locate = ({ workspace, userState, folder }: DatabaseOptions): StateLocation => ({
  workspace,
  key: openSecretKey(userState),
  outerFolder: folder,
});

/** The folder of the database, made where it is missing. */
export const withFolder = <T>(
  options: DatabaseOptions,
  { home }: DatabaseKind,
  work: (folder: OwnFolder) => T,
): T => {
  if (home === "workspace") return withStateFolder(locate(options), work);
  const folder = openUserState(options.userState);
  try {
    return work(folder);
  } finally {
    folder.close();
  }
};

/** As messages name the folder. */
const folderOf = ({ home }: DatabaseKind): string =>
  home === "workspace" ? STATE_DIR : "the user's state folder";

/** Tells the file from another that took its name, a link among them; undefined where there is none. */
export const identityNow = (path: string): string | undefined => {
  try {
    return identityOf(lstatSync(path, { bigint: true }));
  } catch {
    return undefined;
  }
};

/** Undefined where nothing of ours can be: no key is made to find that out. */
export const pathOf = (options: DatabaseOptions, { name, home }: DatabaseKind): string | undefined => {
  if (home === "user") return existsSync(options.userState) ? join(options.userState, name) : undefined;
  if (!existsSync(options.folder ?? join(options.workspace, STATE_DIR))) return undefined;
  try {
    return join(stateFolderPath(locate(options)), name);
  } catch {
    // Without a key there is no folder of ours; a caller that needs one gets the reason.
    return undefined;
  }
};

const REASONS = {
  damaged: "was damaged",
  outdated: "was made by another version",
} as const;

/** Moves the database aside, unless another process has already replaced it. */
export const quarantineDatabase = (
  folder: OwnFolder,
  seen: string | undefined,
  why: keyof typeof REASONS,
  { onWarning }: DatabaseOptions,
  kind: DatabaseKind,
): void => {
  const { name, title, keepsQuarantined } = kind;
  const movedTo = withFolderLock(folder, () => {
    if (seen === undefined || identityIn(folder, name) !== seen) return undefined;
    if (keepsQuarantined === "last") return replaceQuarantined(folder, name);
    return quarantine(folder, name);
  });
  if (movedTo === undefined) return;
  onWarning(
    `${title} ${REASONS[why]}; it was moved to ${movedTo} in ${folderOf(kind)} and a new one was made`,
  );
};

const orClosed = <T>(db: DatabaseSync, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    db.close();
    throw error;
  }
};

/** Undefined where the file was moved aside. */
const tryOpen = (
  folder: OwnFolder,
  options: DatabaseOptions,
  kind: DatabaseKind,
): OpenDatabase | undefined => {
  const { name, busyMs } = kind;
  // Taken before opening: a file that is swapped in between is then seen as replaced, and opened again.
  const seen = identityIn(folder, name);
  try {
    const { db, identity } = connect(folder, name, busyMs);
    if (orClosed(db, () => prepareDatabase(db, kind.schema))) return { db, identity };
    db.close();
    quarantineDatabase(folder, identity, "outdated", options, kind);
  } catch (error) {
    if (!kind.isDamage(error)) throw error;
    quarantineDatabase(folder, seen, "damaged", options, kind);
  }
  return undefined;
};

const openOnDisk = (options: DatabaseOptions, kind: DatabaseKind): OpenDatabase => {
  const { name, title } = kind;
  return withFolder(options, kind, (folder) => {
    for (const movedTo of quarantineForeign(folder, name))
      options.onWarning(
        `something else was in place of ${title}; it was moved to ${movedTo} in ${folderOf(kind)}`,
      );
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const opened = tryOpen(folder, options, kind);
      if (opened !== undefined) return opened;
    }
    throw unavailable(kind, "keeps being replaced by another process.", undefined, true);
  });
};

const openPatiently = (options: DatabaseOptions, kind: DatabaseKind): OpenDatabase => {
  // Several processes may be making it at once, and SQLite does not wait when it switches to WAL.
  const deadline = performance.now() + OPEN_WAIT_MS;
  for (;;) {
    try {
      return openOnDisk(options, kind);
    } catch (error) {
      if (!isTransient(error) || performance.now() > deadline) throw error;
      blockFor(2 + Math.random() * 10);
    }
  }
};

const openInMemory = ({ schema }: DatabaseKind): OpenDatabase => {
  const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
  const db = new Database(MEMORY);
  orClosed(db, () => prepareDatabase(db, schema));
  return { db, identity: MEMORY };
};

/** The one way to open a database of ours: made where it is missing, moved aside where it cannot be trusted. */
export const openDatabase = (options: DatabaseOptions, kind: DatabaseKind): OpenDatabase => {
  try {
    return openPatiently(options, kind);
  } catch (error) {
    if (kind.hasMemoryFallback && isUnwritable(error)) {
      const why = error instanceof LlmcError ? ` (${error.message})` : "";
      options.onWarning(`${kind.title} cannot be written to the disk${why}; it is kept in memory`);
      return openInMemory(kind);
    }
    if (error instanceof LlmcError || resultCode(error) !== 0) throw error;
    throw unavailable(kind, "cannot be made.", error);
  }
};
