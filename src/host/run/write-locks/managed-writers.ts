import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, readdirSync, renameSync, rmSync, writeSync } from "node:fs";
import { posix } from "node:path";
import { insideRoots } from "../../../policy/paths.ts";
import { lockFile } from "../../own-files/file-lock.ts";
import { makeOwnFolder, type OwnFolder } from "../../own-files/own-folder.ts";
import { readDescriptor } from "../../own-files/read-own-file.ts";
import { openUserState } from "../../own-files/secret-key.ts";
import type { Finding } from "../scan/workspace-scan.ts";

/** What a process that runs on found when it started. */
interface ManagedRecord {
  readonly roots: readonly string[];
  /** What is obeyed in its roots and was out of its reach from the beginning. */
  readonly known: readonly string[];
}

/** Something that is obeyed, as it is now. */
type Obeyed = Pick<Finding, "path" | "identity">;

/**
 * Processes that are started to run on hold no write lock while they live. So each leaves a record of the repositories and
 * the obeyed files that were there before it, for the commands that run beside it, of whatever server: any other may be
 * its own work.
 */
export interface ManagedWriters {
  /** To be called while it holds the write lock; the returned function is called when what it left was checked. */
  add(roots: readonly string[], obeyed: readonly Obeyed[]): () => void;
  /** Whether something was there before every process that lives now and could write it. */
  readKnown(): (obeyed: Obeyed) => boolean;
}

const FOLDER = "managed";
const ENDING = ".json";
/** Far more than the repositories of a large workspace. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

const keyOf = ({ path, identity }: Obeyed): string => `${identity} ${path}`;

const openFolder = (userState: string): OwnFolder => {
  openUserState(userState).close();
  return makeOwnFolder(posix.join(userState, FOLDER));
};

/** Undefined where its process is known to be gone: then the record goes, too. */
const readLiving = (folder: OwnFolder, name: string, lock: typeof lockFile): ManagedRecord | undefined => {
  const path = `${folder.at}/${name}`;
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // It ended at this moment.
    return undefined;
  }
  try {
    if (lock(descriptor, "shared") !== "locked")
      return JSON.parse(readDescriptor(descriptor, name, { maxBytes: MAX_RECORD_BYTES }).toString());
    rmSync(path, { force: true });
    return undefined;
  } finally {
    closeSync(descriptor);
  }
};

export const createManagedWriters = (userState: string, lock = lockFile): ManagedWriters => ({
  add: (roots, obeyed) => {
    const folder = openFolder(userState);
    const name = randomBytes(8).toString("hex");
    // It gets the ending that others look for when it is locked and complete.
    const descriptor = openSync(`${folder.at}/${name}`, "wx", 0o600);
    const path = posix.join(userState, FOLDER, `${name}${ENDING}`);
    try {
      lock(descriptor, "exclusive");
      const record: ManagedRecord = { roots, known: obeyed.map(keyOf) };
      writeSync(descriptor, JSON.stringify(record));
      renameSync(`${folder.at}/${name}`, `${folder.at}/${name}${ENDING}`);
    } catch (thrown) {
      closeSync(descriptor);
      rmSync(`${folder.at}/${name}`, { force: true });
      throw thrown;
    } finally {
      folder.close();
    }
    return () => {
      rmSync(path, { force: true });
      closeSync(descriptor);
    };
  },
  readKnown: () => {
    const folder = openFolder(userState);
    try {
      const living = readdirSync(folder.at)
        .filter((name) => name.endsWith(ENDING))
        .flatMap((name) => readLiving(folder, name, lock) ?? [])
        .map(({ roots, known }) => ({ roots, known: new Set(known) }));
      return (obeyed) =>
        living.every(({ roots, known }) => !insideRoots(obeyed.path, roots) || known.has(keyOf(obeyed)));
    } finally {
      folder.close();
    }
  },
});
