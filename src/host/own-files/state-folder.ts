import { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import {
  ignoringExistence,
  makeFolders,
  makeOwnFolder,
  type OwnFolder,
  openOwnFolder,
  UnsafeFolder,
} from "./own-folder.ts";
import { NEW_FILE } from "./replace-file.ts";
import type { SecretKey } from "./secret-key.ts";

/** Whose state, and of which workspace. */
export interface StateLocation {
  /** Real path. */
  readonly workspace: string;
  readonly key: SecretKey;
  /** Where it lies instead of the workspace's `.llmc`: an absolute path, which the operator chose. */
  readonly outerFolder?: string | undefined;
}

const refused = (error: UnsafeFolder, name: string): LlmcError =>
  new LlmcError("unavailable", `The workspace's ${name} ${error.reason}, so nothing is kept there.`, {
    hint:
      `llmc keeps its state only in a folder of its own user that nobody else can write: remove ${name}, ` +
      `or make it yours (chown, chmod go-w).`,
    retryable: false,
    cause: error,
  });

/** A folder at or below `.llmc`, by its name in the workspace: one that somebody else brought is refused. */
export const judged = (open: () => OwnFolder, name: string = STATE_DIR): OwnFolder => {
  try {
    return open();
  } catch (error) {
    throw error instanceof UnsafeFolder ? refused(error, name) : error;
  }
};

/** Keeps our state out of the user's `git status`. */
const addIgnoreFile = (at: string): void => {
  ignoringExistence(() => {
    const fd = openSync(`${at}/.gitignore`, NEW_FILE, 0o600);
    try {
      writeSync(fd, "*\n");
    } finally {
      closeSync(fd);
    }
  });
};

/**
 * A workspace may come from anywhere, and whoever makes one can put any file into its `.llmc`, beside those that are
 * ours: a log that SQLite would merge into a database, a journal. So ours lie in a folder there whose name follows from
 * a key that no workspace has. Each key has a folder of its own: two of them do not get in each other's way, and none
 * removes another's, since neither names nor times there prove whose it is or when it was used.
 */
const folderName = ({ workspace, key, outerFolder }: StateLocation): string =>
  key.sign("state folder", outerFolder ?? workspace).toString("hex", 0, 16);

/** The folder in which ours lies. */
const outerPath = ({ workspace, outerFolder }: StateLocation): string =>
  outerFolder ?? join(workspace, STATE_DIR);

const FOLDER_NAME = /^[0-9a-f]{32}$/;

/** Where the folder is, whether it exists or not. */
export const stateFolderPath = (location: StateLocation): string =>
  join(outerPath(location), folderName(location));

/** Whether somebody with another key keeps state in the workspace: another user, or one whose state folder is elsewhere. */
export const hasOtherState = (location: StateLocation): boolean => {
  try {
    return readdirSync(join(location.workspace, STATE_DIR)).some(
      (name) => FOLDER_NAME.test(name) && name !== folderName(location),
    );
  } catch {
    return false;
  }
};

/** Takes the outer folder over: it is closed. */
const openWithin = (
  outer: OwnFolder,
  location: StateLocation,
  open: (path: string) => OwnFolder,
): OwnFolder => {
  try {
    const inner = judged(() => open(`${outer.at}/${folderName(location)}`));
    return { ...inner, path: stateFolderPath(location) };
  } finally {
    outer.close();
  }
};

/** A workspace's `.llmc` itself, which holds the audit. To be closed after use. */
export const openOuterStateFolder = (workspace: string): OwnFolder =>
  judged(() => openOwnFolder(join(workspace, STATE_DIR)));

/** The same, made where it is missing. */
export const makeOuterStateFolder = (workspace: string): OwnFolder => {
  const folder = judged(() => makeOwnFolder(join(workspace, STATE_DIR)));
  try {
    addIgnoreFile(folder.at);
    return folder;
  } catch (error) {
    folder.close();
    throw error;
  }
};

/** A folder that the operator chose. One below `.llmc` is judged together with it. */
const makeChosenFolder = (workspace: string, folder: string): OwnFolder => {
  if (dirname(folder) === join(workspace, STATE_DIR)) makeOuterStateFolder(workspace).close();
  else makeFolders(dirname(folder));
  return judged(() => makeOwnFolder(folder));
};

/**
 * The one way to our state in a workspace. A `.llmc` that is a link, or that others can write, is refused. To be closed
 * after use.
 */
export const openStateFolder = (location: StateLocation): OwnFolder => {
  const outer = judged(() => openOwnFolder(outerPath(location)));
  return openWithin(outer, location, openOwnFolder);
};

/** The same, made where it is missing. */
export const makeStateFolder = (location: StateLocation): OwnFolder => {
  const outer =
    location.outerFolder === undefined
      ? makeOuterStateFolder(location.workspace)
      : makeChosenFolder(location.workspace, location.outerFolder);
  return openWithin(outer, location, makeOwnFolder);
};

export const withStateFolder = <T>(location: StateLocation, work: (folder: OwnFolder) => T): T => {
  const folder = makeStateFolder(location);
  try {
    return work(folder);
  } finally {
    folder.close();
  }
};
