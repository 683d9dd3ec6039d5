import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { STATE_DIR } from "../../policy/paths.ts";
import {
  ignoringExistence,
  makeOwnFolder,
  type OwnFolder,
  openOwnFolder,
  UnsafeFolder,
} from "./own-folder.ts";
import { NEW_FILE } from "./replace-file.ts";

const refused = (error: UnsafeFolder): LlmcError =>
  new LlmcError("unavailable", `The workspace's ${STATE_DIR} ${error.reason}, so nothing is kept there.`, {
    hint:
      `llmc keeps its state only in a folder of its own user that nobody else can write: remove ${STATE_DIR}, ` +
      `or make it yours (chown, chmod go-w).`,
    retryable: false,
    cause: error,
  });

const judged = (open: () => OwnFolder): OwnFolder => {
  try {
    return open();
  } catch (error) {
    throw error instanceof UnsafeFolder ? refused(error) : error;
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
 * The one way into a workspace's `.llmc`. A workspace may come from anywhere, and with it a `.llmc` that is a link, or
 * that others can write: those are refused. To be closed after use.
 */
export const openStateFolder = (workspace: string): OwnFolder =>
  judged(() => openOwnFolder(join(workspace, STATE_DIR)));

/** The same, made where it is missing. */
export const makeStateFolder = (workspace: string): OwnFolder => {
  const folder = judged(() => makeOwnFolder(join(workspace, STATE_DIR)));
  try {
    addIgnoreFile(folder.at);
    return folder;
  } catch (error) {
    folder.close();
    throw error;
  }
};

export const withStateFolder = <T>(workspace: string, work: (folder: OwnFolder) => T): T => {
  const folder = makeStateFolder(workspace);
  try {
    return work(folder);
  } finally {
    folder.close();
  }
};
