import { once } from "node:events";
import { lstatSync, mkdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection, type Server } from "node:net";
import { dirname } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { listenPrivately, ownUserId } from "./private-socket.ts";

/** Longer names do not fit into the address of a socket. */
const MAX_PATH_BYTES = 107;

const refuse = (path: string, why: string, hint: string): LlmcError =>
  new LlmcError("config_invalid", `The socket ${path} cannot be used: ${why}.`, { hint });

/** Where the token of a socket lies. */
export const tokenFileOf = (socket: string): string => `${socket}.token`;

/** Others may neither replace the socket nor the token beside it. */
const checkFolder = (path: string): void => {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  if (uid !== ownUserId() || (mode & 0o022) !== 0 || (mode & 0o170_000) !== 0o040_000)
    throw refuse(path, "its folder is not this user's alone", "Use a folder of your own, with mode 700.");
};

const isServed = async (path: string): Promise<boolean> => {
  const socket = createConnection(path);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/** The folders of air gaps, where a name outside leads to. */
const AIR_GAP_SOCKET = /\/llmc-air-gap-\w{6}\/[\w.]+$/;

const isOwnLink = (path: string): boolean => AIR_GAP_SOCKET.test(readlinkSync(path));

/** What an ended server left is replaced, anything else never. */
const checkVacant = async (path: string): Promise<void> => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isSocket() && !(found.isSymbolicLink() && isOwnLink(path)))
    throw refuse(path, "something else has this name", "Choose another name.");
  if (found !== undefined && (await isServed(path)))
    throw new LlmcError("busy", `Another server listens on the socket ${path}.`, {
      hint: "Give each server a socket of its own.",
    });
};

const checkName = async (path: string): Promise<void> => {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES)
    throw refuse(path, `it is longer than ${MAX_PATH_BYTES} bytes`, "Choose a shorter path.");
  checkFolder(path);
  await checkVacant(path);
};

/**
 * Gives a socket that a server will open elsewhere, and the token beside it, a name of its own. Returns a function that
 * removes both names.
 */
export const linkByName = async (path: string, target: string): Promise<() => void> => {
  await checkName(path);
  const remove = (): void => {
    for (const file of [path, tokenFileOf(path)]) rmSync(file, { force: true });
  };
  remove();
  symlinkSync(target, path);
  symlinkSync(tokenFileOf(target), tokenFileOf(path));
  return remove;
};

/**
 * Opens a server on a socket that has a name of its own, with a token beside it that only this user can read. Returns a
 * function that removes both.
 */
export const listenByName = async (server: Server, path: string, token: string): Promise<() => void> => {
  await checkName(path);
  const tokenFile = tokenFileOf(path);
  rmSync(tokenFile, { force: true });
  writeFileSync(tokenFile, `${token}\n`, { flag: "wx", mode: 0o600 });
  await listenPrivately(server, path);
  return () => {
    for (const file of [path, tokenFile]) rmSync(file, { force: true });
  };
};
