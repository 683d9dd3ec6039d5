import { createHash } from "node:crypto";
import { join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { makeOwnFolder, type OwnFolder } from "./own-folder.ts";
import { addPrivateFile, openUserState, readPrivateFile } from "./secret-key.ts";

const FOLDER = "tokens";
const MAX_BYTES = 1024;
/** Shorter ones could be guessed; nothing that we make is. */
const MIN_CHARS = 32;

/** Where the token of a workspace is kept: outside of it, so that no repository can bring one, nor a command read it. */
export const tokenPath = (userState: string, workspace: string): string =>
  join(userState, FOLDER, createHash("sha256").update(workspace).digest("hex"));

const unusable = (path: string, cause: unknown): LlmcError =>
  new LlmcError("config_invalid", `The kept access token cannot be used: ${path}`, {
    hint: "Remove that file, and a new token is made.",
    cause,
  });

const keepIn = (folder: OwnFolder, name: string, make: (() => string) | undefined): string | undefined => {
  const read = (): string | undefined => readPrivateFile(folder, name, MAX_BYTES)?.toString().trim();
  let token = read();
  if (token === undefined) {
    if (make === undefined) return undefined;
    addPrivateFile(folder, name, Buffer.from(`${make()}\n`));
    token = read();
  }
  if (token === undefined || token.length < MIN_CHARS) throw new Error("it is too short");
  return token;
};

/**
 * The token of a workspace, made on first use; several servers that start at once agree on one. Without a way to make it,
 * undefined where there is none.
 */
export const keepToken = (
  userState: string,
  workspace: string,
  make: (() => string) | undefined,
): string | undefined => {
  const path = tokenPath(userState, workspace);
  const state = openUserState(userState);
  let folder: OwnFolder | undefined;
  try {
    folder = makeOwnFolder(`${state.at}/${FOLDER}`);
    return keepIn(folder, path.slice(path.lastIndexOf("/") + 1), make);
  } catch (error) {
    throw unusable(path, error);
  } finally {
    folder?.close();
    state.close();
  }
};
