import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { isMissing, systemErrorCode } from "../../base/system-error.ts";

/** A folder of ours, held by a descriptor: what is done through `at` happens in it, whatever its name leads to by now. */
export interface OwnFolder {
  /** Where it was found. */
  readonly path: string;
  /** A path through the descriptor; valid until it is closed. */
  readonly at: string;
  readonly fd: number;
  readonly stats: BigIntStats;
  close(): void;
}

const OPEN = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const hasDescriptorPaths = (fd: number): boolean =>
  lstatSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false }) !== undefined;

/** The user that we act as; undefined where the system knows no users. */
export const ownUser = (): bigint | undefined => {
  const uid = process.geteuid?.();
  return uid === undefined ? undefined : BigInt(uid);
};

/** Why another user could have put files there; undefined if no other user could. */
const judge = (stats: BigIntStats): string | undefined => {
  const me = ownUser();
  // No exception for root: in somebody else's folder, names lead wherever that user wants them to lead.
  if (me !== undefined && stats.uid !== me) return "belongs to another user";
  if (me !== undefined && (stats.mode & 0o022n) !== 0n) return "can be written by other users";
  return undefined;
};

/** A folder that is not safe to keep trusted files in; the reason is the end of a sentence about it. */
export class UnsafeFolder extends Error {
  readonly reason: string;

  constructor(path: string, reason: string, cause?: unknown) {
    super(`${path} ${reason}`, { cause });
    this.reason = reason;
  }
}

const openHeld = (path: string): number => {
  try {
    return openSync(path, OPEN);
  } catch (error) {
    const code = systemErrorCode(error);
    // A link fails as a loop, or as something that is not a directory, which one depends on the system.
    if (code !== "ELOOP" && code !== "ENOTDIR") throw error;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    throw new UnsafeFolder(path, isLink ? "is a link" : "is not a folder");
  }
};

/** Opens a folder that must be ours alone; throws `UnsafeFolder` where it is not, and otherwise the error of the system. */
export const openOwnFolder = (path: string): OwnFolder => {
  const fd = openHeld(path);
  const close = (): void => closeSync(fd);
  try {
    const stats = fstatSync(fd, { bigint: true });
    const reason = judge(stats);
    if (reason !== undefined) throw new UnsafeFolder(path, reason);
    return { path, fd, stats, at: hasDescriptorPaths(fd) ? `/proc/self/fd/${fd}` : path, close };
  } catch (error) {
    close();
    throw error;
  }
};

export const ignoringExistence = (make: () => void): boolean => {
  try {
    make();
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
};

/**
 * Makes a folder and those above it that are missing. Node's own recursive mkdir never returns where the system answers that
 * a parent is missing and it is there, as /proc does.
 */
export const makeFolders = (path: string, mode = 0o777): void => {
  const make = (): boolean => ignoringExistence(() => mkdirSync(path, { mode }));
  try {
    make();
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error;
    makeFolders(dirname(path), mode);
    make();
  }
};

/** Makes the folder where it is missing, for us alone. */
export const makeOwnFolder = (path: string): OwnFolder => {
  ignoringExistence(() => mkdirSync(path, { mode: 0o700 }));
  return openOwnFolder(path);
};

/** Whether the name still leads to the folder that is held. */
export const isStillThere = ({ path, stats }: OwnFolder): boolean => {
  const named = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return named?.isDirectory() === true && named.dev === stats.dev && named.ino === stats.ino;
};
