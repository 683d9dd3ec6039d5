import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, constants, fstatSync, fsyncSync, linkSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import {
  ignoringExistence,
  makeFolders,
  makeOwnFolder,
  type OwnFolder,
  ownUser,
  UnsafeFolder,
} from "./own-folder.ts";
import { readDescriptor } from "./read-own-file.ts";

const KEY_BYTES = 32;
const KEY_NAME = "key";

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const unusable = (folder: string, why: string, error: unknown): LlmcError =>
  new LlmcError("unavailable", `llmc's own folder ${folder} ${why}.`, {
    hint: "It holds the key by which llmc knows its own state. Make it a folder of this user, or set XDG_STATE_HOME.",
    retryable: false,
    cause: error instanceof UnsafeFolder ? error : new UnsafeFolder(folder, why, error),
  });

/** The user's state folder, made where it is missing. */
export const openUserState = (folder: string): OwnFolder => {
  try {
    makeFolders(dirname(folder), 0o700);
    return makeOwnFolder(folder);
  } catch (error) {
    if (error instanceof UnsafeFolder) throw unusable(folder, error.reason, error);
    throw unusable(folder, "cannot be used", error);
  }
};

const tryOpen = (path: string): number | undefined => {
  try {
    return openSync(path, READ);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
};

/** A file of the user's state folder that nobody else may read; undefined where there is none. */
export const readPrivateFile = (folder: OwnFolder, name: string, maxBytes: number): Buffer | undefined => {
  const path = `${folder.at}/${name}`;
  const fd = tryOpen(path);
  if (fd === undefined) return undefined;
  try {
    const { uid, mode } = fstatSync(fd, { bigint: true });
    const me = ownUser();
    if (me !== undefined && (uid !== me || (mode & 0o077n) !== 0n))
      throw new Error(`${name} can be read or was made by other users`);
    return readDescriptor(fd, name, { maxBytes });
  } finally {
    closeSync(fd);
  }
};

/** The file only gets its name when it is complete; if two are created at the same time, the first one is kept. */
export const addPrivateFile = (folder: OwnFolder, name: string, bytes: Uint8Array): void => {
  const temporary = `${folder.at}/${name}.${randomBytes(8).toString("hex")}`;
  const fd = openSync(temporary, NEW_FILE, 0o600);
  try {
    try {
      writeSync(fd, bytes);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    ignoringExistence(() => linkSync(temporary, `${folder.at}/${name}`));
  } finally {
    rmSync(temporary, { force: true });
  }
};

/** Signs what we keep where others may write, so that we know it again. */
export interface SecretKey {
  /** `parts` are separated unambiguously, so that none can run into the next. */
  sign(...parts: readonly string[]): Buffer;
  isSigned(signature: Uint8Array, ...parts: readonly string[]): boolean;
}

const createSecretKey = (bytes: Buffer): SecretKey => {
  const sign = (...parts: readonly string[]): Buffer =>
    createHmac("sha256", bytes).update(JSON.stringify(parts)).digest();
  return {
    sign,
    isSigned: (signature, ...parts) => {
      const expected = sign(...parts);
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    },
  };
};

/**
 * The key in the user's state folder, which no workspace can bring along; made on first use. Several processes that
 * make it at once agree on one.
 */
export const openSecretKey = (userState: string): SecretKey => {
  const folder = openUserState(userState);
  try {
    const read = (): Buffer | undefined => readPrivateFile(folder, KEY_NAME, KEY_BYTES);
    let key = read();
    if (key === undefined) {
      addPrivateFile(folder, KEY_NAME, randomBytes(KEY_BYTES));
      key = read();
    }
    if (key?.length !== KEY_BYTES) throw new Error("the key has another length");
    return createSecretKey(key);
  } catch (error) {
    throw unusable(userState, "has no usable key", error);
  } finally {
    folder.close();
  }
};
